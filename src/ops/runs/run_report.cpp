#include "ops/runs/run_report.h"

#include "ops/runs/analysis_options.h"
#include "ops/runs/named_analysis.h"
#include "ops/runs/recorded_times.h"
#include "ops/runs/run_sets.h"
#include "ops/runs/run_state.h"

namespace nl::ops {
namespace {

/// Of a table. Enough for all rows of any model; a file may name any number of kernels.
constexpr int64_t kMostReportRows = 10'000;

}  // namespace

Result<report::Report> make_run_report(Context& context, const NamedRun& named, const nlohmann::json& given,
                                       const std::optional<LabelValues>& made_with) {
  NL_TRY(auto options, analysis_options(given));
  report::Report report{.tool = {.version = NEUROLENS_VERSION}, .options = given, .top = options.top};
  options.top = kMostReportRows;
  options.with_figures = true;
  NL_TRY(const auto open, open_derived(named));
  NL_TRY(const auto labels, labels_of_run(context, named, open->document()));
  use_labels(options, made_with.value_or(store::counting_values(labels)));
  NL_TRY(auto analysis, analyze::analyze_run(open, options));
  report.run = report::reported_run(open->document());
  for (const auto& label : labels) {
    const auto& counts = label.effective();
    report.labels[label.key] = {counts.value, std::string(store::origin_name(counts.origin))};
  }
  if (is_in_ledger(context, named)) {
    NL_TRY(const auto ledger, ledger_of(context, named));
    NL_TRY(report.files, files_of_run(*ledger, named.run_id, open->document()));
    NL_TRY(const auto notes, ledger->state().notes(named.run_id));
    for (const store::Note& note : notes)
      report.notes.push_back({note.note_id, note.about, note.written.user, note.written.at_ns, note.text});
  }
  for (const std::string& text : named.came_along.notes)
    report.notes.push_back({.note = static_cast<int64_t>(report.notes.size()) + 1, .text = text});
  report.analysis = std::move(analysis.data);
  NL_TRY(report.analysis.recorded_times, recorded_part(*open, options.window, report.top));
  return report::finished(std::move(report));
}

}  // namespace nl::ops
