#include "ops/runs/named_analysis.h"

#include "analyze/rules/prediction.h"
#include "assemble/assemble.h"
#include "ops/runs/run_labels.h"
#include "store/run_document.h"

namespace nl::ops {

Result<analyze::RunAnalysis> analyze_named(const NamedRun& run, const analyze::AnalysisOptions& options) {
  store::EngineStart engine(analyze::timeline_engine());
  NL_CHECK(assemble::ensure_derived(run.bundle));
  NL_TRY(const auto document, store::read_run_document(run.bundle + "/run.json"));
  return analyze::analyze_run(engine, run.bundle, document, options);
}

Result<analyze::MetricSet> metrics_of_run(const NamedRun& run, const std::string& window,
                                          const std::string& device) {
  analyze::AnalysisOptions options;
  options.window = window;
  NL_TRY(auto analysis, analyze_named(run, options));
  for (auto& one : analysis.devices) {
    if (one.device == device) return std::move(one.metrics);
  }
  return Error{ErrorCode::kNotFound, "the run has no device " + device};
}

Result<void> keep_predictions(const Context& context, store::Ledger& ledger, const NamedRun& run,
                              const analyze::RunAnalysis& analysis) {
  const analyze::WindowAnswer& window = analysis.data.window;
  return ledger.change_state([&](store::State& state) -> Result<void> {
    for (const auto& device : analysis.devices) {
      const auto said =
          analyze::predictions_of(device.evaluation.findings, window.name, device.device, window.total_ns);
      NL_CHECK(state.add_predictions(run.run_id, said, act_of(context)));
    }
    return {};
  });
}

}  // namespace nl::ops
