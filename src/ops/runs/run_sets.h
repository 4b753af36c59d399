#pragma once
// Names that stand for several runs: a tag, and a baseline that was set to a tag. In a comparison the runs of
// one name are repeats. The runs of a baseline bear a tag of their own, "@baseline:NAME", which nobody can
// give by hand.

#include <string>
#include <vector>

#include "ops/runs/run_names.h"

namespace nl::ops {

/// All runs that a name stands for. A tag or a baseline may have several; any other name has one. A baseline
/// may also be named without "@baseline:" where nothing else has its name.
Result<std::vector<NamedRun>> resolve_runs(Context& context, store::Ledger& ledger, const std::string& name);

/// Ids of the runs of a baseline, sorted. not_found if there is none of that name.
Result<std::vector<std::string>> runs_of_baseline(store::Ledger& ledger, const std::string& name);

/// Gives a baseline these runs, at least one, and no others.
Result<void> set_baseline_runs(store::State& state, const std::string& name,
                               const std::vector<std::string>& run_ids, const store::Act& act);
/// False if there is none of this name.
Result<bool> remove_baseline_runs(store::State& state, const std::string& name);

/// Names of the profiles that a run was imported from, without folders; none if the ledger has no receipt.
Result<std::vector<std::string>> files_of_run(store::Ledger& ledger, const std::string& run_id,
                                              const nlohmann::json& document);

}  // namespace nl::ops
