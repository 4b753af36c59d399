#include "ops/runs/run_sets.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/files.h"
#include "base/path_text.h"

namespace nl::ops {
namespace {

using RunIds = std::vector<std::string>;

constexpr int64_t kMostRunsOfASet = 200;  // each is opened and read for a comparison

std::string tag_of_baseline(const std::string& name) {
  return kBaselinePrefix + name;
}

Result<bool> is_start_of_an_id(store::Ledger& ledger, const std::string& name) {
  const bool hex = name.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!hex || name.size() < 4 || name.size() > 64) return false;
  NL_TRY(const auto ids, ledger.find(name, 1));
  return !ids.empty();
}

/// All runs of a baseline, or of a tag that several have; none if the name is that of one run.
Result<RunIds> runs_of_set(store::Ledger& ledger, const std::string& name) {
  if (name.starts_with(kBaselinePrefix))
    return runs_of_baseline(ledger, name.substr(std::string_view(kBaselinePrefix).size()));
  NL_TRY(const RunIds tagged, ledger.state().tagged(name, kMostRunsOfASet + 1));
  NL_TRY(const bool is_id, is_start_of_an_id(ledger, name));
  if (tagged.size() == 1 || is_id) return RunIds();
  if (static_cast<int64_t>(tagged.size()) > kMostRunsOfASet)
    return Error{ErrorCode::kLimit, fmt::format("more than {} runs are tagged {}", kMostRunsOfASet, name),
                 "give the runs that you mean another tag"};
  if (!tagged.empty()) return tagged;
  NL_TRY(const auto baseline, ledger.state().baseline(name));
  return baseline ? runs_of_baseline(ledger, name) : Result<RunIds>(RunIds());
}

}  // namespace

Result<RunIds> runs_of_baseline(store::Ledger& ledger, const std::string& name) {
  NL_TRY(const auto baseline, ledger.state().baseline(name));
  if (!baseline)
    return Error{ErrorCode::kNotFound,
                 "there is no baseline named: " + name,
                 "{} lists the baselines",
                 {{"baseline"}}};
  NL_TRY(const RunIds tagged, ledger.state().tagged(tag_of_baseline(name), kMostRunsOfASet));
  std::set<std::string> ids(tagged.begin(), tagged.end());
  ids.insert(baseline->run_id);
  for (const std::string& run_id : ids) {
    if (ledger.has(run_id)) continue;
    return Error{ErrorCode::kNotFound,
                 "a run of baseline " + name + " is gone: " + short_id(run_id),
                 "{} names another one",
                 {suggested("baseline", {{"name", name}, {"run", "RUN"}})}};
  }
  return RunIds(ids.begin(), ids.end());
}

Result<void> set_baseline_runs(store::State& state, const std::string& name, const RunIds& run_ids,
                               const store::Act& act) {
  NL_CHECK(remove_baseline_runs(state, name));
  NL_CHECK(state.set_baseline(name, run_ids.front(), act));
  if (run_ids.size() == 1) return {};
  for (const std::string& run_id : run_ids) NL_CHECK(state.add_tags(run_id, {tag_of_baseline(name)}, act));
  return {};
}

Result<bool> remove_baseline_runs(store::State& state, const std::string& name) {
  const std::string tag = tag_of_baseline(name);
  NL_TRY(const RunIds tagged, state.tagged(tag, kMostRunsOfASet));
  for (const std::string& run_id : tagged) NL_CHECK(state.remove_tags(run_id, {tag}));
  return state.remove_baseline(name);
}

Result<std::vector<NamedRun>> resolve_runs(Context& context, store::Ledger& ledger, const std::string& name) {
  RunIds ids;
  const bool is_path = context.host_paths && path_exists(name);
  if (!is_path && !name.starts_with("@latest")) {
    NL_TRY(ids, runs_of_set(ledger, name));
  }
  if (ids.empty()) ids.push_back(name);
  std::vector<NamedRun> runs;
  for (const std::string& id : ids) {
    NL_TRY(auto run, resolve_run(context, ledger, id));
    runs.push_back(std::move(run));
  }
  return runs;
}

Result<std::vector<std::string>> files_of_run(store::Ledger& ledger, const std::string& run_id,
                                              const nlohmann::json& document) {
  NL_TRY(const auto receipt, ledger.receipt(run_id));
  std::vector<std::string> files;
  if (!receipt) return files;
  const std::string& names = receipt->file_names;
  // The receipt joins names by a blank. A single file may have a blank in its own.
  if (document["sources"].size() == 1) return std::vector{base_name(names)};
  for (size_t from = 0; from < names.size();) {
    const size_t end = std::min(names.find(' ', from), names.size());
    if (end > from) files.push_back(base_name(names.substr(from, end - from)));
    from = end + 1;
  }
  return files;
}

}  // namespace nl::ops
