#include "store/state.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/files.h"
#include "model/labels.h"

namespace nl::store {
namespace {

// Must be raised when the tables below change.
constexpr int64_t kStateVersion = 6;

constexpr char kReceipts[] = R"(receipts(
    run_id TEXT PRIMARY KEY, imported_at_ns INTEGER NOT NULL, file_names TEXT NOT NULL, command TEXT NOT NULL,
    host TEXT NOT NULL, user TEXT NOT NULL, on_the_way INTEGER NOT NULL, document_sha256 TEXT NOT NULL))";

/// What each version added to the receipts of version 0.
struct Addition {
  int64_t version;
  const char* definition;
};
constexpr Addition kTables[] = {
    {1, R"(labels(
    run_id TEXT NOT NULL, key TEXT NOT NULL, origin TEXT NOT NULL, value TEXT NOT NULL, forced INTEGER NOT NULL,
    set_at_ns INTEGER NOT NULL, user TEXT NOT NULL, PRIMARY KEY(run_id, key, origin)) WITHOUT ROWID)"},
    {1, R"(past_labels(
    past_id INTEGER PRIMARY KEY, run_id TEXT NOT NULL, key TEXT NOT NULL, origin TEXT NOT NULL, value TEXT NOT NULL,
    forced INTEGER NOT NULL, set_at_ns INTEGER NOT NULL, user TEXT NOT NULL, until_ns INTEGER NOT NULL,
    until_user TEXT NOT NULL))"},
    {1, R"(tags(
    run_id TEXT NOT NULL, name TEXT NOT NULL, set_at_ns INTEGER NOT NULL, user TEXT NOT NULL,
    PRIMARY KEY(run_id, name)) WITHOUT ROWID)"},
    {1, R"(notes(
    note_id INTEGER NOT NULL, run_id TEXT NOT NULL, written_at_ns INTEGER NOT NULL, user TEXT NOT NULL,
    text TEXT NOT NULL, PRIMARY KEY(run_id, note_id)) WITHOUT ROWID)"},
    {1, R"(baselines(
    name TEXT PRIMARY KEY, run_id TEXT NOT NULL, set_at_ns INTEGER NOT NULL, user TEXT NOT NULL) WITHOUT ROWID)"},
    {1, "touched(run_id TEXT PRIMARY KEY, change INTEGER NOT NULL) WITHOUT ROWID"},
    {2, R"(predictions(
    run_id TEXT NOT NULL, rule TEXT NOT NULL, rule_version INTEGER NOT NULL, suggestion INTEGER NOT NULL,
    window TEXT NOT NULL, device TEXT NOT NULL, at_stake_ns INTEGER NOT NULL, gain_ns INTEGER,
    at_most INTEGER NOT NULL, window_ns INTEGER NOT NULL, made_at_ns INTEGER NOT NULL, user TEXT NOT NULL,
    PRIMARY KEY(run_id, window, device, rule, rule_version, suggestion)) WITHOUT ROWID)"},
    {4, R"(claims(
    run_id TEXT PRIMARY KEY, claimed_by TEXT NOT NULL, packed_sha256 TEXT NOT NULL, taken_at_ns INTEGER NOT NULL,
    user TEXT NOT NULL) WITHOUT ROWID)"},
    {4, R"(tombstones(
    run_id TEXT PRIMARY KEY, reason TEXT NOT NULL, deleted_at_ns INTEGER NOT NULL, user TEXT NOT NULL) WITHOUT ROWID)"},
    {5, "redaction_key(only INTEGER PRIMARY KEY CHECK (only = 1), key TEXT NOT NULL) WITHOUT ROWID"},
    {5, "pseudonyms(pseudonym TEXT PRIMARY KEY, original TEXT NOT NULL) WITHOUT ROWID"},
    {6, R"(note_subjects(
    run_id TEXT NOT NULL, note_id INTEGER NOT NULL, about TEXT NOT NULL, PRIMARY KEY(run_id, note_id)) WITHOUT ROWID)"},
    {6, R"(past_notes(
    past_id INTEGER PRIMARY KEY, run_id TEXT NOT NULL, note_id INTEGER NOT NULL, written_at_ns INTEGER NOT NULL,
    user TEXT NOT NULL, text TEXT NOT NULL, about TEXT NOT NULL, until_ns INTEGER NOT NULL, until_user TEXT NOT NULL))"},
};
constexpr Addition kIndexes[] = {
    {1, "CREATE INDEX past_labels_by_run ON past_labels(run_id)"},
    {1, "CREATE INDEX tags_by_name ON tags(name, run_id)"},
    {1, "CREATE UNIQUE INDEX touched_by_change ON touched(change)"},
    {6, "CREATE INDEX past_notes_by_run ON past_notes(run_id)"},
};

/// What a file of version `from` lacks.
Result<void> create_tables(Sqlite& db, int64_t from) {
  NL_CHECK(db.run("CREATE TABLE IF NOT EXISTS " + std::string(kReceipts)));
  for (const auto& [version, table] : kTables) {
    if (version > from) NL_CHECK(db.run("CREATE TABLE " + std::string(table)));
  }
  for (const auto& [version, index] : kIndexes) {
    if (version > from) NL_CHECK(db.run(index));
  }
  return {};
}

/// Empty tables in the place of those that an old or missing file does not have; nothing is written.
Result<void> stand_in_for_tables(Sqlite& db, int64_t from) {
  const std::string temporary = "CREATE TEMP TABLE ";
  NL_TRY(const int64_t receipts,
         db.integer("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'receipts'"));
  if (receipts == 0) NL_CHECK(db.run(temporary + kReceipts));
  for (const auto& [version, table] : kTables) {
    if (version > from) NL_CHECK(db.run(temporary + table));
  }
  return {};
}

Result<void> migrate(Sqlite& db) {
  NL_TRY(auto transaction, SqliteTransaction::begin(db));
  NL_TRY(const int64_t version, db.integer("PRAGMA user_version"));
  if (version == kStateVersion) return {};  // another process was first
  NL_CHECK(create_tables(db, version));
  NL_CHECK(db.run("PRAGMA user_version = " + std::to_string(kStateVersion)));
  return transaction.commit();
}

/// The state as it was, for whoever goes back to an older neurolens: state.sqlite.v5 and so on.
Result<void> keep_old_version(Sqlite& db, const std::string& path) {
  NL_TRY(const auto nobody_writes, SqliteTransaction::begin(db));
  NL_TRY(const int64_t version, db.integer("PRAGMA user_version"));
  if (version == kStateVersion) return {};  // another process was first
  const std::string kept = path + ".v" + std::to_string(version);
  const std::string aside = kept + "." + std::to_string(::getpid());
  NL_CHECK(db.copy_to(aside));
  if (::rename(aside.c_str(), kept.c_str()) == 0) return {};
  const int number = errno;
  (void)::unlink(aside.c_str());
  return errno_error("cannot write", kept, number);
}

LabelValue label_of(const SqliteRow& r) {
  const LabelOrigin origin = origin_of_name(r.text(1)).value_or(LabelOrigin::kUser);
  return {r.text(0), origin, r.text(2), r.integer(3) != 0, r.integer(4), r.text(5)};
}

}  // namespace

Result<State> State::open(const std::string& path, SqliteAccess access, int busy_ms) {
  const bool writes = access == SqliteAccess::kReadWrite;
  const bool missing = !writes && !path_exists(path);
  NL_TRY(Sqlite db, Sqlite::open(path, busy_ms, missing ? SqliteAccess::kMemory : access,
                                 {"{} restores it", {"state", R"({"action": "repair"})"}}));
  NL_TRY(const int64_t version, db.integer("PRAGMA user_version"));
  if (version > kStateVersion) {
    return Error{ErrorCode::kUnsupported,
                 "the state of the ledger is of version " + std::to_string(version) + ": " + path,
                 "a newer neurolens wrote it; this one knows version " + std::to_string(kStateVersion)};
  }
  if (version >= kFirstWithChecksums && !db.has_checksums())
    return db.damaged("the file has lost its checksums");
  if (version < kStateVersion && writes) {
    NL_TRY(const int64_t pages, db.integer("PRAGMA page_count"));
    if (pages > 0) NL_CHECK(keep_old_version(db, path));
    if (pages > 0 && !db.has_checksums()) NL_CHECK(db.add_checksums());
    NL_CHECK(migrate(db));
  }
  if (version < kStateVersion && !writes) NL_CHECK(stand_in_for_tables(db, version));
  return State(std::move(db));
}

Result<void> State::touch(const std::string& run_id) {
  return db_.run(
      "INSERT OR REPLACE INTO touched VALUES (?, 1 + (SELECT coalesce(max(change), 0) FROM touched))",
      {run_id});
}

Result<void> State::put_receipt(const std::string& run_id, const Receipt& r) {
  NL_TRY(auto transaction, SqliteTransaction::begin(db_));
  NL_CHECK(db_.run("INSERT OR IGNORE INTO receipts VALUES (?,?,?,?,?,?,?,?)",
                   {run_id, r.imported_at_ns, r.file_names, r.command, r.host, r.user,
                    static_cast<int64_t>(r.on_the_way), r.document_sha256}));
  NL_CHECK(db_.run("UPDATE receipts SET document_sha256 = ? WHERE run_id = ?", {r.document_sha256, run_id}));
  NL_CHECK(touch(run_id));
  return transaction.commit();
}

Result<std::optional<Receipt>> State::receipt(const std::string& run_id) {
  std::optional<Receipt> found;
  NL_CHECK(db_.each(
      "SELECT imported_at_ns, file_names, command, host, user, on_the_way, document_sha256 FROM receipts "
      "WHERE run_id = ?",
      {run_id}, [&](const SqliteRow& r) {
        found =
            Receipt{r.integer(0), r.text(1), r.text(2), r.text(3), r.text(4), r.integer(5) != 0, r.text(6)};
      }));
  return found;
}

Result<std::map<std::string, std::string>> State::documents() {
  std::map<std::string, std::string> hashes;
  NL_CHECK(db_.each("SELECT run_id, document_sha256 FROM receipts ORDER BY run_id", {},
                    [&](const SqliteRow& r) { hashes.emplace_hint(hashes.end(), r.text(0), r.text(1)); }));
  return hashes;
}

Result<bool> State::keep(const std::string& run_id) {
  NL_TRY(const int64_t marked,
         db_.integer("SELECT count(*) FROM receipts WHERE run_id = ? AND on_the_way = 1", {run_id}));
  if (marked == 0) return false;
  NL_TRY(auto transaction, SqliteTransaction::begin(db_));
  NL_CHECK(db_.run("UPDATE receipts SET on_the_way = 0 WHERE run_id = ?", {run_id}));
  NL_CHECK(touch(run_id));
  NL_CHECK(transaction.commit());
  return true;
}

Result<void> State::forget(const std::string& run_id) {
  NL_TRY(auto transaction, SqliteTransaction::begin(db_));
  NL_CHECK(remove_all_of(run_id));
  return transaction.commit();
}

Result<void> State::remove_all_of(const std::string& run_id) {
  for (const char* table : {"receipts", "labels", "past_labels", "tags", "notes", "note_subjects",
                            "past_notes", "baselines", "predictions", "claims"}) {
    NL_CHECK(db_.run("DELETE FROM " + std::string(table) + " WHERE run_id = ?", {run_id}));
  }
  return touch(run_id);  // so that every index takes it out
}

Result<void> State::bury(const std::string& run_id, const std::string& reason, const Act& act) {
  NL_TRY(auto transaction, SqliteTransaction::begin(db_));
  NL_CHECK(remove_all_of(run_id));
  NL_CHECK(
      db_.run("INSERT OR REPLACE INTO tombstones VALUES (?,?,?,?)", {run_id, reason, act.at_ns, act.user}));
  return transaction.commit();
}

Result<std::vector<Tombstone>> State::tombstones(const std::string& prefix, int64_t limit) {
  std::vector<Tombstone> found;
  NL_CHECK(db_.each(
      "SELECT run_id, reason, deleted_at_ns, user FROM tombstones WHERE substr(run_id, 1, ?) = ? "
      "ORDER BY run_id LIMIT ?",
      {static_cast<int64_t>(prefix.size()), prefix, limit},
      [&](const SqliteRow& r) { found.push_back({r.text(0), r.text(1), {r.integer(2), r.text(3)}}); }));
  return found;
}

Result<void> State::put_claim(const std::string& run_id, const Claim& claim) {
  NL_TRY(auto transaction, SqliteTransaction::begin(db_));
  NL_CHECK(db_.run("INSERT OR REPLACE INTO claims VALUES (?,?,?,?,?)",
                   {run_id, claim.claimed_by, claim.packed_sha256, claim.taken.at_ns, claim.taken.user}));
  NL_CHECK(touch(run_id));
  return transaction.commit();
}

Result<void> State::remove_claim(const std::string& run_id) {
  NL_TRY(auto transaction, SqliteTransaction::begin(db_));
  NL_CHECK(db_.run("DELETE FROM claims WHERE run_id = ?", {run_id}));
  NL_CHECK(touch(run_id));
  return transaction.commit();
}

Result<std::optional<Claim>> State::claim(const std::string& run_id) {
  std::optional<Claim> found;
  NL_CHECK(
      db_.each("SELECT claimed_by, packed_sha256, taken_at_ns, user FROM claims WHERE run_id = ?", {run_id},
               [&](const SqliteRow& r) { found = Claim{r.text(0), r.text(1), {r.integer(2), r.text(3)}}; }));
  return found;
}

Result<std::string> State::redaction_key(const std::string& if_none) {
  if (!if_none.empty()) NL_CHECK(db_.run("INSERT OR IGNORE INTO redaction_key VALUES (1, ?)", {if_none}));
  std::string key;
  NL_CHECK(db_.each("SELECT key FROM redaction_key", {}, [&](const SqliteRow& r) { key = r.text(0); }));
  return key;
}

Result<void> State::add_pseudonyms(const std::map<std::string, std::string>& originals) {
  NL_TRY(auto transaction, SqliteTransaction::begin(db_));
  for (const auto& [pseudonym, original] : originals)
    NL_CHECK(db_.run("INSERT OR IGNORE INTO pseudonyms VALUES (?,?)", {pseudonym, original}));
  return transaction.commit();
}

Result<std::map<std::string, std::string>> State::pseudonyms() {
  std::map<std::string, std::string> originals;
  NL_CHECK(db_.each("SELECT pseudonym, original FROM pseudonyms", {},
                    [&](const SqliteRow& r) { originals[r.text(0)] = r.text(1); }));
  return originals;
}

Result<std::vector<LabelValue>> State::labels(const std::string& run_id) {
  std::vector<LabelValue> labels;
  NL_CHECK(db_.each("SELECT key, origin, value, forced, set_at_ns, user FROM labels WHERE run_id = ?",
                    {run_id}, [&](const SqliteRow& r) { labels.push_back(label_of(r)); }));
  return labels;
}

Result<std::vector<PastLabel>> State::past_labels(const std::string& run_id) {
  std::vector<PastLabel> past;
  NL_CHECK(db_.each(
      "SELECT key, origin, value, forced, set_at_ns, user, until_ns, until_user FROM past_labels "
      "WHERE run_id = ? ORDER BY past_id",
      {run_id}, [&](const SqliteRow& r) { past.push_back({label_of(r), r.integer(6), r.text(7)}); }));
  return past;
}

Result<void> State::change_label(const std::string& run_id, const LabelChange& change, const Act& act) {
  const std::string origin = origin_name(change.origin);
  // Each act on a key is later than the one before, even if the clock went back.
  NL_TRY(const int64_t last,
         db_.integer("SELECT max(set_at_ns) FROM labels WHERE run_id = ? AND key = ?", {run_id, change.key}));
  const int64_t at_ns = std::max(act.at_ns, last + 1);
  NL_CHECK(db_.run(
      "INSERT INTO past_labels(run_id, key, origin, value, forced, set_at_ns, user, until_ns, until_user) "
      "SELECT run_id, key, origin, value, forced, set_at_ns, user, ?, ? FROM labels "
      "WHERE run_id = ? AND key = ? AND origin = ? AND value IS NOT ?",
      {at_ns, act.user, run_id, change.key, origin,
       change.value ? SqliteValue(*change.value) : SqliteValue(nullptr)}));
  if (!change.value) {
    return db_.run("DELETE FROM labels WHERE run_id = ? AND key = ? AND origin = ?",
                   {run_id, change.key, origin});
  }
  return db_.run(
      "INSERT OR REPLACE INTO labels VALUES (?,?,?,?,?,?,?)",
      {run_id, change.key, origin, *change.value, static_cast<int64_t>(change.forced), at_ns, act.user});
}

Result<void> State::change_labels(const std::string& run_id, const std::vector<LabelChange>& changes,
                                  const Act& act) {
  NL_TRY(auto transaction, SqliteTransaction::begin(db_));
  for (const auto& change : changes) NL_CHECK(change_label(run_id, change, act));
  NL_TRY(const int64_t keys,
         db_.integer("SELECT count(DISTINCT key) FROM labels WHERE run_id = ?", {run_id}));
  if (keys > static_cast<int64_t>(model::kMaxLabelsOfARun)) {
    return Error{ErrorCode::kLimit, "the run would have " + std::to_string(keys) + " labels",
                 "at most " + std::to_string(model::kMaxLabelsOfARun)};
  }
  NL_CHECK(touch(run_id));
  return transaction.commit();
}

Result<std::vector<std::string>> State::tags(const std::string& run_id) {
  std::vector<std::string> names;
  NL_CHECK(db_.each("SELECT name FROM tags WHERE run_id = ? ORDER BY name", {run_id},
                    [&](const SqliteRow& r) { names.push_back(r.text(0)); }));
  return names;
}

Result<void> State::add_tags(const std::string& run_id, const std::vector<std::string>& names,
                             const Act& act) {
  NL_TRY(auto transaction, SqliteTransaction::begin(db_));
  for (const auto& name : names) {
    NL_CHECK(db_.run("INSERT OR IGNORE INTO tags VALUES (?,?,?,?)", {run_id, name, act.at_ns, act.user}));
  }
  NL_CHECK(touch(run_id));
  return transaction.commit();
}

Result<void> State::remove_tags(const std::string& run_id, const std::vector<std::string>& names) {
  NL_TRY(auto transaction, SqliteTransaction::begin(db_));
  for (const auto& name : names) {
    NL_CHECK(db_.run("DELETE FROM tags WHERE run_id = ? AND name = ?", {run_id, name}));
    if (db_.changes() == 0) {
      return Error{ErrorCode::kNotFound,
                   "the run has no tag " + name,
                   "{} lists its tags",
                   {{"tag", R"({"run": "RUN"})"}}};
    }
  }
  NL_CHECK(touch(run_id));
  return transaction.commit();
}

Result<std::vector<std::string>> State::tagged(const std::string& name, int64_t limit) {
  std::vector<std::string> ids;
  NL_CHECK(db_.each("SELECT run_id FROM tags WHERE name = ? ORDER BY run_id LIMIT ?", {name, limit},
                    [&](const SqliteRow& r) { ids.push_back(r.text(0)); }));
  return ids;
}

Result<std::vector<Note>> State::notes(const std::string& run_id) {
  std::vector<Note> notes;
  NL_CHECK(db_.each(
      "SELECT note_id, written_at_ns, user, text, coalesce(about, '') FROM notes LEFT JOIN note_subjects "
      "USING (run_id, note_id) WHERE run_id = ? ORDER BY note_id",
      {run_id}, [&](const SqliteRow& r) {
        notes.push_back({r.integer(0), {r.integer(1), r.text(2)}, r.text(3), r.text(4)});
      }));
  return notes;
}

Result<std::vector<PastNote>> State::past_notes(const std::string& run_id) {
  std::vector<PastNote> notes;
  NL_CHECK(
      db_.each("SELECT note_id, written_at_ns, user, text, about, until_ns, until_user FROM past_notes WHERE "
               "run_id = ? "
               "ORDER BY past_id",
               {run_id}, [&](const SqliteRow& r) {
                 notes.push_back({{r.integer(0), {r.integer(1), r.text(2)}, r.text(3), r.text(4)},
                                  {r.integer(5), r.text(6)}});
               }));
  return notes;
}

/// A number is never given twice: the history speaks of it.
Result<void> State::add_note(const std::string& run_id, const std::string& text, const std::string& about,
                             const Act& act) {
  NL_TRY(auto transaction, SqliteTransaction::begin(db_));
  NL_TRY(const int64_t last,
         db_.integer("SELECT max((SELECT coalesce(max(note_id), 0) FROM notes WHERE run_id = ?1), (SELECT "
                     "coalesce(max(note_id), 0) FROM past_notes WHERE run_id = ?1))",
                     {run_id}));
  NL_CHECK(db_.run("INSERT INTO notes VALUES (?,?,?,?,?)", {last + 1, run_id, act.at_ns, act.user, text}));
  if (!about.empty())
    NL_CHECK(db_.run("INSERT INTO note_subjects VALUES (?,?,?)", {run_id, last + 1, about}));
  NL_CHECK(touch(run_id));
  return transaction.commit();
}

/// What it says goes into the history.
Result<bool> State::end_note(const std::string& run_id, int64_t note_id, const Act& act) {
  NL_CHECK(
      db_.run("INSERT INTO past_notes(run_id, note_id, written_at_ns, user, text, about, until_ns, "
              "until_user) SELECT "
              "run_id, note_id, written_at_ns, user, text, coalesce(about, ''), max(?3, written_at_ns + 1), "
              "?4 FROM notes LEFT JOIN "
              "note_subjects USING (run_id, note_id) WHERE run_id = ?1 AND note_id = ?2",
              {run_id, note_id, act.at_ns, act.user}));
  return db_.changes() > 0;
}

Result<bool> State::change_note(const std::string& run_id, int64_t note_id, const std::string& text,
                                const Act& act) {
  NL_TRY(auto transaction, SqliteTransaction::begin(db_));
  NL_TRY(const bool is_there, end_note(run_id, note_id, act));
  if (!is_there) return false;
  NL_CHECK(
      db_.run("UPDATE notes SET text = ?3, written_at_ns = max(?4, written_at_ns + 1), user = ?5 WHERE "
              "run_id = ?1 AND note_id = ?2",
              {run_id, note_id, text, act.at_ns, act.user}));
  NL_CHECK(touch(run_id));
  NL_CHECK(transaction.commit());
  return true;
}

Result<bool> State::remove_note(const std::string& run_id, int64_t note_id, const Act& act) {
  NL_TRY(auto transaction, SqliteTransaction::begin(db_));
  NL_TRY(const bool is_there, end_note(run_id, note_id, act));
  if (!is_there) return false;
  for (const char* table : {"notes", "note_subjects"})
    NL_CHECK(db_.run(std::string("DELETE FROM ") + table + " WHERE run_id = ? AND note_id = ?",
                     {run_id, note_id}));
  NL_CHECK(transaction.commit());
  return true;
}

Result<std::vector<Baseline>> State::baselines() {
  std::vector<Baseline> all;
  NL_CHECK(db_.each(
      "SELECT name, run_id, set_at_ns, user FROM baselines ORDER BY name", {},
      [&](const SqliteRow& r) { all.push_back({r.text(0), r.text(1), {r.integer(2), r.text(3)}}); }));
  return all;
}

Result<std::optional<Baseline>> State::baseline(const std::string& name) {
  std::optional<Baseline> found;
  NL_CHECK(db_.each(
      "SELECT name, run_id, set_at_ns, user FROM baselines WHERE name = ?", {name},
      [&](const SqliteRow& r) { found = Baseline{r.text(0), r.text(1), {r.integer(2), r.text(3)}}; }));
  return found;
}

Result<void> State::set_baseline(const std::string& name, const std::string& run_id, const Act& act) {
  return db_.run("INSERT OR REPLACE INTO baselines VALUES (?,?,?,?)", {name, run_id, act.at_ns, act.user});
}

Result<bool> State::remove_baseline(const std::string& name) {
  NL_CHECK(db_.run("DELETE FROM baselines WHERE name = ?", {name}));
  return db_.changes() > 0;
}

Result<int64_t> State::add_predictions(const std::string& run_id, const std::vector<Prediction>& predictions,
                                       const Act& act) {
  NL_TRY(auto transaction, SqliteTransaction::begin(db_));
  int64_t added = 0;
  for (const auto& p : predictions) {
    NL_CHECK(db_.run("INSERT OR IGNORE INTO predictions VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
                     {run_id, p.rule, p.rule_version, p.suggestion, p.window, p.device, p.at_stake_ns,
                      p.gain_ns ? SqliteValue(*p.gain_ns) : SqliteValue(nullptr),
                      static_cast<int64_t>(p.at_most), p.window_ns, act.at_ns, act.user}));
    added += db_.changes();
  }
  NL_CHECK(transaction.commit());
  return added;
}

Result<std::vector<Prediction>> State::predictions(const std::string& run_id) {
  std::vector<Prediction> all;
  NL_CHECK(
      db_.each("SELECT rule, rule_version, suggestion, window, device, at_stake_ns, gain_ns, at_most, "
               "window_ns, made_at_ns, "
               "user FROM predictions WHERE run_id = ? "
               "ORDER BY window, device, at_stake_ns DESC, rule, rule_version, suggestion",
               {run_id}, [&](const SqliteRow& r) {
                 const auto gain = r.is_null(6) ? std::nullopt : std::optional<int64_t>(r.integer(6));
                 all.push_back({r.text(0),
                                r.integer(1),
                                r.integer(2),
                                r.text(3),
                                r.text(4),
                                r.integer(5),
                                gain,
                                r.integer(7) != 0,
                                r.integer(8),
                                {r.integer(9), r.text(10)}});
               }));
  return all;
}

Result<std::vector<std::string>> State::predicted_runs() {
  std::vector<std::string> ids;
  NL_CHECK(db_.each("SELECT DISTINCT run_id FROM predictions ORDER BY run_id", {},
                    [&](const SqliteRow& r) { ids.push_back(r.text(0)); }));
  return ids;
}

Result<int64_t> State::last_change() {
  return db_.integer("SELECT max(change) FROM touched");
}

Result<std::vector<std::string>> State::touched_after(int64_t change) {
  std::vector<std::string> ids;
  NL_CHECK(db_.each("SELECT run_id FROM touched WHERE change > ? ORDER BY change", {change},
                    [&](const SqliteRow& r) { ids.push_back(r.text(0)); }));
  return ids;
}

}  // namespace nl::store
