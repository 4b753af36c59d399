#include "store/run_index.h"

#include <algorithm>

#include "store/run_document.h"

namespace nl::store {
namespace {

using nlohmann::json;

// Raised when the tables below, or what is put into them, change. Version 0 had no number.
constexpr int64_t kIndexVersion = 3;

// runs_by_time also has the figures that groups add up, so that they are read without the wide rows.
constexpr const char* kTables[] = {
    R"(CREATE TABLE runs(
    run_no INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, imported_at_ns INTEGER NOT NULL,
    file_names TEXT NOT NULL, format TEXT NOT NULL, backend TEXT NOT NULL, device TEXT NOT NULL,
    devices INTEGER NOT NULL, records INTEGER NOT NULL, dropped INTEGER NOT NULL, kernels INTEGER NOT NULL,
    bundle_bytes INTEGER NOT NULL, on_the_way INTEGER NOT NULL, labels TEXT NOT NULL, tags TEXT NOT NULL))",
    "CREATE INDEX runs_by_time ON runs(imported_at_ns DESC, run_id, kernels, records, dropped)",
    "CREATE INDEX runs_on_the_way ON runs(on_the_way) WHERE on_the_way = 1",
    R"(CREATE TABLE sources(sha256 TEXT, bytes INTEGER, run_id TEXT, PRIMARY KEY(sha256, run_id))
       WITHOUT ROWID)",
    "CREATE INDEX sources_by_size ON sources(bytes)",
    "CREATE INDEX sources_by_run ON sources(run_id)",
    "CREATE TABLE known(change INTEGER NOT NULL)",
    "INSERT INTO known VALUES (0)",
};
constexpr char kColumns[] =
    "SELECT run_id, imported_at_ns, file_names, format, backend, device, devices, records, dropped, kernels, "
    "bundle_bytes, on_the_way, labels, tags FROM runs ";

RunRow row_of(const SqliteRow& r) {
  return {r.text(0),
          r.integer(1),
          r.text(2),
          r.text(3),
          r.text(4),
          r.text(5),
          r.integer(6),
          r.integer(7),
          r.integer(8),
          r.integer(9),
          r.integer(10),
          r.integer(11) != 0,
          json::parse(r.text(12)),
          json::parse(r.text(13))};
}

/// Every (key, value) that the run can be found by.
template <class Visit>
Result<void> each_key(const RunRow& row, const Visit& visit) {
  NL_CHECK(visit(kEveryRun, std::string()));
  NL_CHECK(visit("format", row.format));
  NL_CHECK(visit("backend", row.backend));
  NL_CHECK(visit("file", row.file_names));
  if (!row.device.empty()) NL_CHECK(visit("device", row.device));
  for (const auto& tag : row.tags) NL_CHECK(visit("tag", tag));
  for (const auto& [key, value] : row.labels) NL_CHECK(visit(key, value));
  return {};
}

}  // namespace

IndexedRun indexed_run(const json& document, const Receipt& receipt, const std::vector<LabelValue>& labels,
                       std::vector<std::string> tags) {
  IndexedRun run;
  RunRow& row = run.row;
  row.run_id = document["run_id"];
  row.imported_at_ns = receipt.imported_at_ns;
  row.file_names = receipt.file_names;
  row.on_the_way = receipt.on_the_way;
  row.format = document["sources"][0]["format"];
  row.backend = document["software"]["backend"];
  for (const auto& device : document["hardware"]["devices"]) {
    if (!device["active"].get<bool>()) continue;
    if (row.devices++ == 0) row.device = device.value("name", "");
  }
  for (const auto& table : document["tables"]) {
    if (table["name"] == "kernels") row.kernels = table["rows"];
    row.bundle_bytes += table["bytes"].get<int64_t>();
  }
  row.records = document["capture"]["counts"]["seen"];
  row.dropped = sum_of_counts(document["capture"]["counts"]["dropped"]);
  row.labels = counting_values(merge_labels(source_labels(document), labels));
  row.tags = std::move(tags);
  for (const auto& s : document["sources"]) run.sources.push_back({s["sha256"], s["bytes"]});
  return run;
}

Result<RunIndex> RunIndex::open(const std::string& path, SqliteAccess access, int busy_ms) {
  NL_TRY(Sqlite db, Sqlite::open(path, busy_ms, access, {kDamagedIndex, {"gc", R"({"reindex": true})"}}));
  NL_TRY(const int64_t version, db.integer("PRAGMA user_version"));
  const bool is_current = version == kIndexVersion && db.has_checksums();
  if (access == SqliteAccess::kReadWrite) {
    if (version != 0 && !db.has_checksums()) NL_CHECK(db.add_checksums());
    if (version != kIndexVersion) NL_CHECK(db.run("PRAGMA journal_mode = WAL"));
    NL_CHECK(db.run("PRAGMA synchronous = NORMAL"));
    NL_CHECK(db.run("PRAGMA mmap_size = 1073741824"));  // a scan would otherwise be one call for each page
  }
  return RunIndex(std::move(db), is_current);
}

Result<void> RunIndex::start_over() {
  std::vector<std::string> tables;
  NL_CHECK(db_.each("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'", {},
                    [&](const SqliteRow& r) { tables.push_back(r.text(0)); }));
  for (const auto& table : tables) NL_CHECK(db_.run("DROP TABLE \"" + table + "\""));
  for (const char* sql : kTables) NL_CHECK(db_.run(sql));
  NL_CHECK(db_.run(kPostingsTable));
  NL_CHECK(db_.run("PRAGMA user_version = " + std::to_string(kIndexVersion)));
  current_ = true;
  return {};
}

Result<void> RunIndex::insert(int64_t run_no, const IndexedRun& run) {
  const RunRow& row = run.row;
  NL_CHECK(db_.run("INSERT INTO runs VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                   {run_no, row.run_id, row.imported_at_ns, row.file_names, row.format, row.backend,
                    row.device, row.devices, row.records, row.dropped, row.kernels, row.bundle_bytes,
                    static_cast<int64_t>(row.on_the_way), json(row.labels).dump(), json(row.tags).dump()}));
  for (const auto& source : run.sources) {
    NL_CHECK(
        db_.run("INSERT OR REPLACE INTO sources VALUES (?,?,?)", {source.sha256, source.bytes, row.run_id}));
  }
  return {};
}

Result<void> RunIndex::put(const IndexedRun& run) {
  NL_TRY(int64_t run_no, db_.integer("SELECT run_no FROM runs WHERE run_id = ?", {run.row.run_id}));
  if (run_no != 0) NL_CHECK(remove(run.row.run_id));
  if (run_no == 0) {
    NL_TRY(const int64_t last, db_.integer("SELECT max(run_no) FROM runs"));
    run_no = last + 1;
  }
  NL_CHECK(insert(run_no, run));
  return each_key(run.row, [&](const std::string& key, const std::string& value) {
    return add_posting(db_, key, value, run_no);
  });
}

Result<void> RunIndex::remove(const std::string& run_id) {
  NL_TRY(const int64_t run_no, db_.integer("SELECT run_no FROM runs WHERE run_id = ?", {run_id}));
  if (run_no == 0) return {};
  NL_TRY(const RunRow old, row(run_no));
  NL_CHECK(each_key(old, [&](const std::string& key, const std::string& value) {
    return remove_posting(db_, key, value, run_no);
  }));
  NL_CHECK(db_.run("DELETE FROM sources WHERE run_id = ?", {run_id}));
  return db_.run("DELETE FROM runs WHERE run_no = ?", {run_no});
}

Result<void> RunIndex::fill(std::vector<IndexedRun> runs) {
  std::sort(runs.begin(), runs.end(), [](const IndexedRun& a, const IndexedRun& b) {
    return std::tie(a.row.imported_at_ns, a.row.run_id) < std::tie(b.row.imported_at_ns, b.row.run_id);
  });
  PostingsBuilder postings;
  int64_t run_no = 0;
  for (const auto& run : runs) {
    NL_CHECK(insert(++run_no, run));
    NL_CHECK(each_key(run.row, [&](const std::string& key, const std::string& value) -> Result<void> {
      postings.add(key, value, run_no);
      return {};
    }));
  }
  return postings.write(db_);
}

Result<int64_t> RunIndex::known_change() {
  return db_.integer("SELECT change FROM known");
}

Result<void> RunIndex::set_known_change(int64_t change) {
  return db_.run("UPDATE known SET change = ?", {change});
}

Result<std::vector<RunRow>> RunIndex::list(int64_t limit, int64_t offset) {
  static const std::string kSql =
      std::string(kColumns) +
      "WHERE run_no IN (SELECT run_no FROM runs ORDER BY imported_at_ns DESC, run_id "
      "LIMIT ? OFFSET ?) ORDER BY imported_at_ns DESC, run_id";
  std::vector<RunRow> rows;
  NL_CHECK(db_.each(kSql, {limit, offset}, [&](const SqliteRow& r) { rows.push_back(row_of(r)); }));
  return rows;
}

Result<RunRow> RunIndex::row(int64_t run_no) {
  static const std::string kSql = std::string(kColumns) + "WHERE run_no = ?";
  std::optional<RunRow> found;
  NL_CHECK(db_.each(kSql, {run_no}, [&](const SqliteRow& r) { found = row_of(r); }));
  if (!found) return Error{ErrorCode::kInternal, "the index has no run number " + std::to_string(run_no)};
  return *std::move(found);
}

Result<int64_t> RunIndex::count() {
  RunSet all;
  NL_CHECK(read_posting(db_, kEveryRun, "", all));
  return all.count();
}

Result<std::vector<std::string>> RunIndex::find(const std::string& prefix, int64_t limit) {
  std::vector<std::string> ids;
  NL_CHECK(db_.each("SELECT run_id FROM runs WHERE run_id >= ? AND run_id < ? ORDER BY run_id LIMIT ?",
                    {prefix, prefix + "g", limit}, [&](const SqliteRow& r) { ids.push_back(r.text(0)); }));
  return ids;
}

Result<std::string> RunIndex::run_with_source(const std::string& sha256) {
  std::string id;
  NL_CHECK(db_.each("SELECT run_id FROM sources WHERE sha256 = ? ORDER BY run_id LIMIT 1", {sha256},
                    [&](const SqliteRow& r) { id = r.text(0); }));
  return id;
}

Result<bool> RunIndex::has_source_of_size(int64_t bytes) {
  NL_TRY(const int64_t found, db_.integer("SELECT 1 FROM sources WHERE bytes = ? LIMIT 1", {bytes}));
  return found != 0;
}

Result<std::vector<std::string>> RunIndex::all_ids() {
  std::vector<std::string> ids;
  NL_CHECK(db_.each("SELECT run_id FROM runs ORDER BY run_id", {},
                    [&](const SqliteRow& r) { ids.push_back(r.text(0)); }));
  return ids;
}

Result<std::vector<std::string>> RunIndex::on_the_way() {
  std::vector<std::string> ids;
  NL_CHECK(db_.each("SELECT run_id FROM runs WHERE on_the_way = 1 ORDER BY run_id", {},
                    [&](const SqliteRow& r) { ids.push_back(r.text(0)); }));
  return ids;
}

}  // namespace nl::store
