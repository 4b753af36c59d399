#include "ops/runs/run_report.h"

#include "ops/runs/analysis_options.h"
#include "ops/runs/named_analysis.h"
#include "ops/runs/recorded_times.h"
#include "ops/runs/run_state.h"
#include "store/run_document.h"

namespace nl::ops {

Result<report::Report> make_run_report(Context& context, const NamedRun& named, const nlohmann::json& given) {
  NL_TRY(auto options, analysis_options(given));
  report::Report report{.tool = {.version = NEUROLENS_VERSION}, .options = given, .top = options.top};
  options.top = INT64_MAX;
  options.with_figures = true;
  NL_TRY(auto analysis, analyze_named(named, options));
  NL_TRY(const auto document, store::read_run_document(named.bundle + "/run.json"));
  report.run = report::reported_run(document);
  NL_TRY(const auto labels, labels_of_run(context, named, document));
  for (const auto& label : labels) {
    const auto& counts = label.effective();
    report.labels[label.key] = {counts.value, std::string(store::origin_name(counts.origin))};
  }
  report.analysis = std::move(analysis.data);
  NL_TRY(const auto files, store::run_files(named.bundle));
  NL_TRY(report.analysis.recorded_times, recorded_part(files, options.window, report.top));
  return report::finished(std::move(report));
}

}  // namespace nl::ops
