#pragma once
// RunIndex: what `runs` lists, filters and counts. It is a cache in index.sqlite, made from the bundles and
// the state; an index of another version is deleted and rebuilt. One RunIndex serves one thread.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "store/postings.h"
#include "store/sqlite.h"
#include "store/state.h"

namespace nl::store {

/// What a listing shows; taken from run.json and the state, never from the tables.
struct RunRow {
  std::string run_id;
  int64_t imported_at_ns = 0;
  std::string file_names;
  std::string format;
  std::string backend;
  std::string device;  ///< name of the first active device
  int64_t devices = 0;
  int64_t records = 0;
  int64_t dropped = 0;
  int64_t kernels = 0;
  int64_t bundle_bytes = 0;
  bool on_the_way = false;
  std::map<std::string, std::string> labels = {};  ///< those that count
  std::vector<std::string> tags = {};
};

struct IndexedSource {
  std::string sha256;
  int64_t bytes = 0;
};

struct IndexedRun {
  RunRow row;
  std::vector<IndexedSource> sources;
};

/// From run.json and what the state says of the run.
IndexedRun indexed_run(const nlohmann::json& document, const Receipt& receipt,
                       const std::vector<LabelValue>& labels, std::vector<std::string> tags);

/// The posting that every run is in.
inline constexpr char kEveryRun[] = "";

/// The hint of the error that a damaged index gives.
inline constexpr char kDamagedIndex[] = "{} rebuilds the index";

class RunIndex {
 public:
  static Result<RunIndex> open(const std::string& path, SqliteAccess access, int busy_ms);

  /// False: nothing may be asked before `start_over`.
  bool is_current() const { return current_; }
  Result<SqliteTransaction> transaction() { return SqliteTransaction::begin(db_); }
  /// Empties the index. Call inside a transaction.
  Result<void> start_over();

  Result<void> put(const IndexedRun& run);
  Result<void> remove(const std::string& run_id);
  /// Many runs into an empty index, by time; quicker than one by one.
  Result<void> fill(std::vector<IndexedRun> runs);

  /// Number of the last change of the state that the index knows.
  Result<int64_t> known_change();
  Result<void> set_known_change(int64_t change);

  Result<std::vector<RunRow>> list(int64_t limit, int64_t offset);
  Result<RunRow> row(int64_t run_no);
  Result<int64_t> count();
  Result<std::vector<std::string>> find(const std::string& prefix, int64_t limit);
  Result<std::string> run_with_source(const std::string& sha256);
  Result<bool> has_source_of_size(int64_t bytes);
  Result<std::vector<std::string>> on_the_way();
  /// Of all runs, sorted.
  Result<std::vector<std::string>> all_ids();
  Sqlite& db() { return db_; }

 private:
  RunIndex(Sqlite db, bool current) : db_(std::move(db)), current_(current) {}
  Result<void> insert(int64_t run_no, const IndexedRun& run);

  Sqlite db_;
  bool current_;
};

}  // namespace nl::store
