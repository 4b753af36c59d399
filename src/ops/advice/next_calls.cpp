#include "ops/advice/next_calls.h"

#include "ops/runs/run_state.h"
#include "store/ledger.h"

namespace nl::ops {

Result<std::string> claimed_by_of(const Context& context, const NamedRun& run) {
  if (!run.claimed_by.empty() || !is_in_ledger(context, run)) return run.claimed_by;
  NL_TRY(const auto ledger, ledger_of(context, run));
  NL_TRY(const auto claim, ledger->state().claim(run.run_id));
  return claim ? claim->claimed_by : std::string();
}

SuggestedCall in_window(SuggestedCall call, const std::string& window) {
  if (window == kUsualWindow) return call;
  call.parameters.back() = ',';
  call.parameters += suggested("", {{"window", window}}).parameters.substr(1);
  return call;
}

Result<void> suggest_baseline(const Context& context, const NamedRun& run, Outcome& outcome) {
  if (!is_in_ledger(context, run)) return {};
  NL_TRY(const auto ledger, ledger_of(context, run));
  NL_TRY(const auto baselines, ledger->state().baselines());
  for (const store::Baseline& baseline : baselines) {
    if (baseline.run_id == run.run_id) continue;
    const std::string name = kBaselinePrefix + baseline.name;
    outcome.next.push_back(suggested("compare", {{"runs", nlohmann::json::array({name, run.call_name()})}}));
    return {};
  }
  return {};
}

}  // namespace nl::ops
