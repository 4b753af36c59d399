#pragma once
// Ledger: a folder of runs.
//
//   runs/<run_id>/   one bundle: run.json, *.parquet (facts), derived/ (deletable)
//
//   staging/<name>/  a bundle being written; renamed into runs/ when it is complete
//
//   index.sqlite     what `runs` lists: a cache, rebuilt from the bundles; on a network file system it lies
//   in the
//                    local cache folder
//
//   state.sqlite     precious: receipts (when, who, from which file); never touched by a reindex
//
// Several processes may use one ledger at once; one Ledger object serves one thread.

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/sqlite.h"

namespace nl::store {

/// How a run came into the ledger.
struct Receipt {
  int64_t imported_at_ns = 0;  ///< Unix time
  std::string file_names;      ///< as given, joined by a blank
  std::string command;
  std::string host;
  std::string user;
  bool on_the_way = false;  ///< imported because another command named the file; gc drops these first
  std::string document_sha256 = {};  ///< of run.json, so that verify sees every change of it
};

/// What a listing shows; taken from run.json and the receipt, never from the tables.
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
};

/// A folder of its own for one import, locked while it is in use and removed unless published.
class Staging {
 public:
  Staging(std::string folder, int lock) : folder_(std::move(folder)), lock_(lock) {}
  Staging(Staging&& other) noexcept : folder_(std::move(other.folder_)), lock_(other.lock_) {
    other.lock_ = -1;
  }
  Staging& operator=(Staging&&) = delete;
  ~Staging();
  /// The bundle to be.
  std::string bundle() const { return folder_ + "/bundle"; }
  /// Where joins and sorts may spill.
  std::string temp() const { return folder_ + "/temp"; }

 private:
  std::string folder_;
  int lock_;
};

struct GcReport {
  int64_t stale_stagings = 0;
  int64_t dropped_runs = 0;
  int64_t indexed_runs = 0;
  std::vector<std::string> unreadable = {};  ///< run folders without a valid run.json, left as they are
};

class Ledger {
 public:
  /// Opens the folder, creating it if need be.
  static Result<Ledger> open(const std::string& folder);
  /// $NEUROLENS_LEDGER, else $XDG_DATA_HOME/neurolens, else ~/.local/share/neurolens.
  static std::string default_folder();

  const std::string& folder() const { return folder_; }
  std::string run_folder(const std::string& run_id) const { return folder_ + "/runs/" + run_id; }

  Result<Staging> new_staging();
  /// Makes the bundle visible under its id. False if the run is there already (another process may have been
  /// first).
  Result<bool> publish(const Staging& staging, const std::string& run_id);
  /// Puts the new bundle in the place of the old one.
  Result<void> replace(const Staging& staging, const std::string& run_id);
  /// Adds the run to the index and, if given, its receipt to the state. May be repeated.
  Result<void> record(const std::string& run_id, const std::optional<Receipt>& receipt);

  /// The run was asked for by name: gc must not take it for one imported on the way.
  Result<void> keep(const std::string& run_id);

  Result<std::vector<RunRow>> list(int64_t limit, int64_t offset);
  Result<int64_t> count();
  /// Ids that start with the prefix, at most `limit`.
  Result<std::vector<std::string>> find(const std::string& prefix, int64_t limit);
  /// The run imported last, or `back` imports before it.
  Result<std::string> latest(int64_t back);
  /// A run with a source of this size and hash; empty if there is none.
  Result<std::string> run_with_source(const std::string& sha256);
  Result<bool> has_source_of_size(int64_t bytes);
  Result<std::optional<Receipt>> receipt(const std::string& run_id);

  /// Removes what killed imports left; drop_on_the_way also removes runs that were imported on the way.
  Result<GcReport> collect_garbage(bool drop_on_the_way);
  /// Rebuilds the index from the bundles.
  Result<GcReport> reindex();

 private:
  Ledger(std::string folder, Sqlite index, Sqlite state)
      : folder_(std::move(folder)), index_(std::move(index)), state_(std::move(state)) {}
  Result<void> index_run(const std::string& run_id, const nlohmann::json& document, const Receipt& receipt);

  std::string folder_;
  Sqlite index_;
  Sqlite state_;
};

}  // namespace nl::store
