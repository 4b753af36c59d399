// Export and import of the state, one record at a time. A record names its table and its columns, so that a
// person can read it and a later version can still take it.

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"
#include "store/state.h"

namespace nl::store {
namespace {

using nlohmann::json;

struct RecordKind {
  const char* kind;    ///< what the record says of itself
  const char* select;  ///< columns in the order below
  const char* order;   ///< columns that give the rows a fixed order
  const char* insert;  ///< leaves what is there
  std::array<const char*, 13> columns;
};

constexpr RecordKind kKinds[] = {
    {"receipt",
     "SELECT run_id, imported_at_ns, file_names, command, host, user, on_the_way, document_sha256 FROM "
     "receipts",
     "run_id",
     "INSERT OR IGNORE INTO receipts VALUES (?,?,?,?,?,?,?,?)",
     {"run_id", "imported_at_ns", "file_names", "command", "host", "user", "on_the_way", "document_sha256"}},
    {"label",
     "SELECT run_id, key, origin, value, forced, set_at_ns, user FROM labels",
     "run_id, key, origin",
     "INSERT OR IGNORE INTO labels VALUES (?,?,?,?,?,?,?)",
     {"run_id", "key", "origin", "value", "forced", "set_at_ns", "user"}},
    {"past_label",
     "SELECT run_id, key, origin, value, forced, set_at_ns, user, until_ns, until_user FROM past_labels",
     "past_id",
     "INSERT INTO past_labels(run_id, key, origin, value, forced, set_at_ns, user, until_ns, until_user) "
     "SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 WHERE NOT EXISTS (SELECT 1 FROM past_labels WHERE run_id = "
     "?1 "
     "AND key = ?2 AND origin = ?3 AND value = ?4 AND set_at_ns = ?6)",
     {"run_id", "key", "origin", "value", "forced", "set_at_ns", "user", "until_ns", "until_user"}},
    {"tag",
     "SELECT run_id, name, set_at_ns, user FROM tags",
     "run_id, name",
     "INSERT OR IGNORE INTO tags VALUES (?,?,?,?)",
     {"run_id", "name", "set_at_ns", "user"}},
    {"note",
     "SELECT run_id, written_at_ns, user, text, note_id FROM notes",
     "run_id, note_id",
     "INSERT INTO notes SELECT CASE WHEN ?5 IS NULL OR EXISTS (SELECT 1 FROM notes WHERE run_id = ?1 AND "
     "note_id = ?5) THEN 1 + max((SELECT coalesce(max(note_id), 0) FROM notes WHERE run_id = ?1), (SELECT "
     "coalesce(max(note_id), 0) FROM past_notes WHERE run_id = ?1)) ELSE ?5 END, ?1, ?2, ?3, ?4 "
     "WHERE NOT EXISTS (SELECT 1 FROM notes WHERE run_id = ?1 AND written_at_ns = ?2 AND text = ?4) AND NOT "
     "EXISTS (SELECT 1 FROM past_notes WHERE run_id = ?1 AND written_at_ns = ?2 AND text = ?4)",
     {"run_id", "written_at_ns", "user", "text", "note_id"}},
    {"note_subject",
     "SELECT run_id, written_at_ns, text, about FROM notes JOIN note_subjects USING (run_id, note_id)",
     "run_id, note_id",
     "INSERT OR IGNORE INTO note_subjects SELECT run_id, note_id, ?4 FROM notes WHERE run_id = ?1 AND "
     "written_at_ns = ?2 AND text = ?3",
     {"run_id", "written_at_ns", "text", "about"}},
    {"past_note",
     "SELECT run_id, note_id, written_at_ns, user, text, about, until_ns, until_user FROM past_notes",
     "past_id",
     "INSERT INTO past_notes(run_id, note_id, written_at_ns, user, text, about, until_ns, until_user) SELECT "
     "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE NOT EXISTS (SELECT 1 FROM past_notes WHERE run_id = ?1 AND "
     "note_id = ?2 AND written_at_ns = ?3 AND text = ?5)",
     {"run_id", "note_id", "written_at_ns", "user", "text", "about", "until_ns", "until_user"}},
    {"baseline",
     "SELECT name, run_id, set_at_ns, user FROM baselines",
     "name",
     "INSERT OR IGNORE INTO baselines VALUES (?,?,?,?)",
     {"name", "run_id", "set_at_ns", "user"}},
    {"prediction",
     "SELECT run_id, rule, rule_version, suggestion, window, device, at_stake_ns, gain_ns, at_most, "
     "window_ns, "
     "made_at_ns, user FROM predictions",
     "run_id, window, device, rule, rule_version, suggestion",
     "INSERT OR IGNORE INTO predictions VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
     {"run_id", "rule", "rule_version", "suggestion", "window", "device", "at_stake_ns", "gain_ns", "at_most",
      "window_ns", "made_at_ns", "user"}},
    {"claim",
     "SELECT run_id, claimed_by, packed_sha256, taken_at_ns, user FROM claims",
     "run_id",
     "INSERT OR IGNORE INTO claims VALUES (?,?,?,?,?)",
     {"run_id", "claimed_by", "packed_sha256", "taken_at_ns", "user"}},
    {"tombstone",
     "SELECT run_id, reason, deleted_at_ns, user FROM tombstones",
     "run_id",
     "INSERT OR IGNORE INTO tombstones VALUES (?,?,?,?)",
     {"run_id", "reason", "deleted_at_ns", "user"}},
    {"redaction_key",
     "SELECT key FROM redaction_key",
     "key",
     "INSERT OR IGNORE INTO redaction_key VALUES (1, ?)",
     {"key"}},
    {"pseudonym",
     "SELECT pseudonym, original FROM pseudonyms",
     "pseudonym",
     "INSERT OR IGNORE INTO pseudonyms VALUES (?,?)",
     {"pseudonym", "original"}},
};

bool is_number(std::string_view column) {
  return column.ends_with("_ns") || column == "forced" || column == "note_id" || column == "on_the_way" ||
         column == "rule_version" || column == "suggestion" || column == "at_most";
}

/// Notes had no numbers in records of earlier versions.
bool may_be_null(const RecordKind& kind, std::string_view column) {
  return column == "gain_ns" || (column == "note_id" && std::string_view(kind.kind) == "note");
}

std::span<const char* const> columns_of(const RecordKind& kind) {
  const auto end = std::find(kind.columns.begin(), kind.columns.end(), nullptr);
  return {kind.columns.begin(), end};
}

json record_of(const RecordKind& kind, const SqliteRow& row) {
  json record = {{"record", kind.kind}};
  int at = 0;
  for (const char* column : columns_of(kind)) {
    record[column] = row.is_null(at)     ? json(nullptr)
                     : is_number(column) ? json(row.integer(at))
                                         : json(row.text(at));
    at++;
  }
  return record;
}

std::string ordered(const RecordKind& kind, const char* direction) {
  std::string columns;
  for (const auto& column : split(kind.order, ','))
    columns += (columns.empty() ? "" : ", ") + column + direction;
  return std::string(kind.select) + " ORDER BY " + columns;
}

bool is_run_id(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Result<std::vector<SqliteValue>> values_of(const RecordKind& kind, const json& record) {
  std::vector<SqliteValue> values;
  for (const char* column : columns_of(kind)) {
    const bool number = is_number(column);
    const auto member = record.find(column);
    const bool is_absent = member == record.end() || member->is_null();
    if (is_absent && may_be_null(kind, column)) {
      values.push_back(nullptr);
      continue;
    }
    if (member == record.end() || !(number ? member->is_number_integer() : member->is_string())) {
      return Error{ErrorCode::kBadInput, std::string("the record ") + kind.kind + " has no valid " + column};
    }
    values.push_back(number ? SqliteValue(member->get<int64_t>()) : SqliteValue(member->get<std::string>()));
  }
  const auto run = record.find("run_id");
  if (run != record.end() && !is_run_id(*run))
    return Error{ErrorCode::kBadInput, "the record has no valid run_id"};
  return values;
}

}  // namespace

Result<void> State::export_records(const std::function<Result<void>(const json&)>& record) {
  for (const auto& kind : kKinds) {
    Result<void> taken;
    NL_CHECK(db_.each(ordered(kind, ""), {}, [&](const SqliteRow& row) {
      if (taken) taken = record(record_of(kind, row));
    }));
    NL_CHECK(taken);
  }
  return {};
}

Result<void> salvage_records(const std::string& path,
                             const std::function<Result<void>(const json&)>& record) {
  auto opened = Sqlite::open(path, 0, SqliteAccess::kReadOnly);
  if (!opened) return {};
  Sqlite& db = *opened;
  const auto version = db.integer("PRAGMA user_version");
  if (!version || (*version >= kFirstWithChecksums && !db.has_checksums())) return {};
  Result<void> taken;
  for (const auto& kind : kKinds) {
    for (const char* direction : {" ASC", " DESC"}) {
      // A damaged page ends the reading; the rows behind it come from the other side.
      (void)db.each(ordered(kind, direction), {}, [&](const SqliteRow& row) {
        if (taken) taken = record(record_of(kind, row));
      });
      NL_CHECK(taken);
    }
  }
  return {};
}

Result<bool> State::import_record(const json& record) {
  const std::string name = record.is_object() ? record.value("record", "") : std::string();
  for (const auto& kind : kKinds) {
    if (name != kind.kind) continue;
    NL_TRY(const auto values, values_of(kind, record));
    NL_CHECK(db_.run(kind.insert, values));
    if (db_.changes() == 0) return false;
    if (record.contains("run_id")) NL_CHECK(touch(record["run_id"]));
    return true;
  }
  return Error{ErrorCode::kBadInput, "not a record of a state: " + record.dump().substr(0, 80)};
}

}  // namespace nl::store
