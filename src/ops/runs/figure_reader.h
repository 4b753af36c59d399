#pragma once
// FigureReader: goes through the runs of a history and reads a figure of each. One thread.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compare/trend_answer.h"
#include "ops/runs/run_figure.h"
#include "ops/runs/run_history.h"
#include "ops/runs/run_measures.h"

namespace nl::ops {

class FigureReader {
 public:
  FigureReader(Context& context, const store::Ledger& ledger, const History& history, const RunFigure& figure,
               MeasureDetail detail);

  using Take = std::function<void(const store::RunRow& run, double value, const nlohmann::json& measures)>;
  /// The runs that have the figure, in their order; those that have not are counted by their reason.
  Result<void> read(const RunGroupHistory& group, const Take& take);
  std::vector<compare::TrendLeftOut> left_out() const;

 private:
  Context& context_;
  const store::Ledger& ledger_;
  const RunFigure& figure_;
  MeasureDetail detail_;
  double runs_ = 0;
  int64_t done_ = 0;
  std::map<std::string, int64_t> left_out_;
};

}  // namespace nl::ops
