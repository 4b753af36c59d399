#include "ops/runs/run_report.h"

#include "ops/runs/analysis_options.h"
#include "ops/runs/named_analysis.h"
#include "ops/runs/recorded_times.h"
#include "ops/runs/run_state.h"
#include "report/report_json.h"
#include "store/run_document.h"

namespace nl::ops {

using nlohmann::json;

Result<json> make_run_report(Context& context, const NamedRun& named, const json& given) {
  NL_TRY(auto options, analysis_options(given));
  report::ReportInput input{NEUROLENS_VERSION, {}, json::object(), {}, given, options.top};
  options.top = INT64_MAX;
  options.with_figures = true;
  NL_TRY(auto analysis, analyze_named(named, options));
  NL_TRY(input.document, store::read_run_document(named.bundle + "/run.json"));
  NL_TRY(const auto labels, labels_of_run(context, named, input.document));
  for (const auto& label : labels) {
    const auto& counts = label.effective();
    input.labels[label.key] = {{"value", counts.value}, {"origin", store::origin_name(counts.origin)}};
  }
  input.analysis = std::move(analysis.data);
  NL_TRY(const auto files, store::run_files(named.bundle));
  NL_TRY(input.analysis["recorded_times"], recorded_part(files, options.window, input.top));
  return report::make_report(std::move(input));
}

}  // namespace nl::ops
