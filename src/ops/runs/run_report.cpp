#include "ops/runs/run_report.h"

#include "ops/runs/analysis_options.h"
#include "ops/runs/named_analysis.h"
#include "ops/runs/recorded_times.h"
#include "ops/runs/run_state.h"
#include "report/report_json.h"

namespace nl::ops {

using nlohmann::json;

Result<json> make_run_report(Context& context, const NamedRun& named, const json& given) {
  NL_TRY(auto options, analysis_options(context, given));
  report::ReportInput input{NEUROLENS_VERSION, {}, json::object(), {}, given, options.top};
  options.top = INT64_MAX;
  options.with_figures = true;
  NL_TRY(const auto open, open_derived(named));
  NL_TRY(auto analysis, analyze::analyze_run(open, options));
  input.document = open->document();
  NL_TRY(const auto labels, labels_of_run(context, named, input.document));
  for (const auto& label : labels) {
    const auto& counts = label.effective();
    input.labels[label.key] = {{"value", counts.value}, {"origin", store::origin_name(counts.origin)}};
  }
  input.analysis = std::move(analysis.data);
  NL_TRY(input.analysis["recorded_times"], recorded_part(*open, options.window, input.top));
  return report::make_report(std::move(input));
}

}  // namespace nl::ops
