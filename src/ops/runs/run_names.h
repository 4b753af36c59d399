#pragma once
// Resolves what a person may write for a run: an id prefix, a tag, @latest, @latest~2, @baseline:NAME, a
// bundle folder, a packed run, or the path of any profile, which is then imported first.

#include <memory>
#include <string>

#include "ops/operation.h"
#include "ops/runs/sidecar.h"
#include "store/ledger.h"
#include "store/run_lease.h"
#include "store/run_views.h"

namespace nl::ops {

inline constexpr size_t kShortId = 12;

struct NamedRun {
  std::string run_id;
  std::string bundle;  ///< folder with run.json
  bool imported_now = false;
  /// In the cache: where what is derived lies if the run is not in the ledger, or if nothing can be written
  /// there. Empty without a cache.
  std::string cached = {};
  bool is_foreign = false;                      ///< a bundle that is not in the ledger
  std::string path = {};                        ///< as given, of a bundle folder or a packed run
  std::string claimed_by = {};                  ///< name of the packed file that it is read from
  Sidecar came_along = {};                      ///< labels, tags and notes in a packed run
  std::shared_ptr<store::Ledger> ledger = {};   ///< the one it was found in, if it was looked for in one
  std::shared_ptr<store::RunLease> lease = {};  ///< keeps gc and refresh away from a run of the ledger

  /// How the next command names it.
  std::string call_name() const { return path.empty() ? run_id.substr(0, kShortId) : path; }

  store::RunPlace place() const {
    if (is_foreign) return {bundle, cached};
    store::RunPlace own = store::place_in_ledger(bundle);
    own.spare = cached;
    return own;
  }
};

Result<NamedRun> resolve_run(Context& context, const std::string& name);
/// The same in a ledger that is open already.
Result<NamedRun> resolve_run(Context& context, store::Ledger& ledger, const std::string& name);
/// The same for a run that must be in this ledger: one whose state is asked for or changed.
Result<NamedRun> resolve_ledger_run(Context& context, store::Ledger& ledger, const std::string& name);
/// The same, but a bundle folder is taken as it is, even if its run.json is damaged; its name stands for its
/// id.
Result<NamedRun> resolve_run_unread(Context& context, const std::string& name);

/// A run that the ledger lists, without a lease: for those who read many.
NamedRun listed_run(const Context& context, const store::Ledger& ledger, const std::string& run_id);

/// The ledger that the run was found in; else that of the context, opened now.
Result<std::shared_ptr<store::Ledger>> ledger_of(const Context& context, const NamedRun& run);

/// How a person names the runs of a baseline; a tag of this beginning marks those of a set.
inline constexpr char kBaselinePrefix[] = "@baseline:";

/// The first characters of an id, enough to type.
inline std::string short_id(const std::string& run_id) {
  return run_id.substr(0, kShortId);
}

}  // namespace nl::ops
