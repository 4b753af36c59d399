#include "ops/runs/figure_reader.h"

#include <cmath>

namespace nl::ops {

FigureReader::FigureReader(Context& context, const store::Ledger& ledger, const History& history,
                           const RunFigure& figure, MeasureDetail detail)
    : context_(context), ledger_(ledger), figure_(figure), detail_(detail) {
  for (const RunGroupHistory& group : history.groups) runs_ += static_cast<double>(group.runs.size());
}

Result<void> FigureReader::read(const RunGroupHistory& group, const Take& take) {
  constexpr int64_t kRunsAtOnce = 16;  // between two signs of progress
  for (const store::RunRow& row : group.runs) {
    NL_CHECK(check_cancelled());
    if (done_ % kRunsAtOnce == 0) context_.progress({"reading runs", static_cast<double>(done_) / runs_});
    done_++;
    const auto measures = run_measures(listed_run(context_, ledger_, row.run_id), detail_);
    const Known<double> value = measures ? figure_.of(*measures) : Absent{measures.error().message};
    if (value && std::isfinite(*value)) {
      take(row, *value, *measures);
    } else {
      left_out_[value ? "the figure is no number" : value.reason()]++;
    }
  }
  return {};
}

std::vector<compare::TrendLeftOut> FigureReader::left_out() const {
  std::vector<compare::TrendLeftOut> list;
  for (const auto& [reason, runs] : left_out_) list.push_back({reason, runs});
  return list;
}

}  // namespace nl::ops
