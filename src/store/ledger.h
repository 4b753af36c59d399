#pragma once
// Ledger: a folder of runs. It has these parts:
//
//   runs/<run_id>/   one bundle: run.json, *.parquet (facts), derived/ (deletable)
//
//   staging/<name>/  a bundle being written; renamed into runs/ when it is complete
//
//   index.sqlite     what `runs` lists: a cache, rebuilt from the bundles and the state (run_index.h)
//
//   state.sqlite     precious: receipts, labels, tags, notes, baselines; never touched by a reindex
//   (state.h).
//                    Backups of it lie beside it (state_backup.h).
//
// A ledger that cannot be written can still be read; if it has no index, one is built in memory. Several
// processes may use one ledger at the same time; one Ledger object serves one thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/aside.h"
#include "base/environment.h"
#include "base/json.h"
#include "base/result.h"
#include "store/ledger_access.h"
#include "store/run_index.h"
#include "store/state.h"

namespace nl::store {

/// A folder of its own for one import; it vanishes with this object.
class Staging {
 public:
  explicit Staging(FolderAside folder) : folder_(std::move(folder)) {}
  /// The bundle to be.
  std::string bundle() const { return folder_.path() + "/bundle"; }
  /// Where joins and sorts may spill.
  std::string temp() const { return folder_.path() + "/temp"; }

 private:
  FolderAside folder_;
};

struct GcReport {
  int64_t stale_stagings = 0;
  int64_t dropped_runs = 0;
  int64_t indexed_runs = 0;
  std::vector<std::string> unreadable = {};  ///< run folders without a valid run.json, left as they are
};

/// Whether to wait for those who use a run.
enum class Patience { kNone, kSome };

class Ledger {
 public:
  /// Opens the folder, creating it if need be. An index that is behind is brought up to date, unless it is
  /// going to be rebuilt anyway.
  static Result<Ledger> open(const std::string& folder, bool catches_up = true,
                             const Environment& surroundings = Environment::of_process());
  /// $NEUROLENS_LEDGER, else $XDG_DATA_HOME/neurolens, else ~/.local/share/neurolens.
  static std::string default_folder(const Environment& surroundings);

  const std::string& folder() const { return folder_; }
  std::string run_folder(const std::string& run_id) const { return folder_ + "/runs/" + run_id; }
  /// Is the run there now? Others may drop it the next moment, unless one holds a lease.
  bool has(const std::string& run_id) const;
  /// permission or unavailable if the ledger can only be read.
  Result<void> may_write() const;

  /// Waits for whoever writes the state or the index now. For those who are about to do what must not stop
  /// half-way: until here a cancelled call may give up.
  Result<void> wait_until_free();
  Result<Staging> new_staging();
  /// Makes the bundle visible under its id. False if the run is there already (another process may have been
  /// first).
  Result<bool> publish(const Staging& staging, const std::string& run_id);
  /// Puts the new bundle in the place of the old one.
  Result<void> replace(const Staging& staging, const std::string& run_id);
  /// Adds the receipt to the state and the run to the index. May be repeated.
  Result<void> record(const std::string& run_id, const Receipt& receipt);
  /// The same for a run that was just published: it goes back into its staging folder if it gets no receipt,
  /// since no list would show it.
  Result<void> record_new(const Staging& staging, const std::string& run_id, const Receipt& receipt);

  /// The run was asked for by name: gc must not take it for one imported on the way.
  Result<void> keep(const std::string& run_id);

  Result<std::vector<RunRow>> list(int64_t limit, int64_t offset) { return index_.list(limit, offset); }
  Result<int64_t> count() { return index_.count(); }
  /// Ids that start with the prefix, at most `limit`.
  Result<std::vector<std::string>> find(const std::string& prefix, int64_t limit) {
    return index_.find(prefix, limit);
  }
  /// The run imported last, or `back` imports before it.
  Result<std::string> latest(int64_t back);
  /// A run with a source of this size and hash; empty if there is none.
  Result<std::string> run_with_source(const std::string& sha256) { return index_.run_with_source(sha256); }
  Result<bool> has_source_of_size(int64_t bytes) { return index_.has_source_of_size(bytes); }
  Result<std::optional<Receipt>> receipt(const std::string& run_id) { return state_.receipt(run_id); }
  RunIndex& index() { return index_; }

  /// To read; changes go through change_state.
  State& state() { return state_; }
  /// Lets `change` work on the state if the ledger may be written, then brings the index up to date.
  Result<void> change_state(const std::function<Result<void>(State&)>& change);
  /// By key, from run.json and the state.
  Result<std::vector<Label>> labels(const std::string& run_id, const nlohmann::json& document);

  /// Removes a run for good; a tombstone says who did it, when and why. Its content may be imported again.
  /// `conflict` if the run is in use.
  Result<void> delete_run(const std::string& run_id, const std::string& reason, const Act& act,
                          Patience patience = Patience::kSome);

  /// Removes what killed imports left, and lists runs that they made; drop_on_the_way also removes runs that
  /// were imported on the way.
  Result<GcReport> collect_garbage(bool drop_on_the_way);
  /// Rebuilds the index from the bundles.
  Result<GcReport> reindex();

 private:
  Ledger(std::string folder, LedgerAccess access, RunIndex index, State state)
      : folder_(std::move(folder)),
        access_(std::move(access)),
        index_(std::move(index)),
        state_(std::move(state)) {}
  Result<IndexedRun> look_at(const std::string& run_id);
  Result<void> drop(const std::string& run_id, const std::function<Result<void>(State&)>& forget);
  Result<void> catch_up();
  Result<void> after_change();
  Result<void> mend_half_done();
  Result<void> index_touched();
  Result<void> reindex_in_memory();
  Result<GcReport> fill_index();
  Result<void> index_unlisted(const std::vector<std::string>& ids);
  std::vector<IndexedRun> look_at_all(GcReport& report);

  std::string folder_;
  LedgerAccess access_;
  RunIndex index_;
  State state_;
};

/// Wall clock, Unix time.
int64_t unix_now_ns();

}  // namespace nl::store
