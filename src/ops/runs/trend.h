#pragma once
// Trend: one figure over the history of runs, group by group. It marks where the level of the figure changed,
// and lists what else changed there.

#include "base/result.h"
#include "compare/trend_answer.h"
#include "ops/operation.h"
#include "ops/runs/run_figure.h"
#include "ops/runs/run_history.h"
#include "stats/change_points.h"

namespace nl::ops {

struct TrendQuestion {
  HistoryQuestion history;
  RunFigure figure;
  stats::ChangePointOptions change_points;
};

Result<compare::Trend> trend_of(Context& context, store::Ledger& ledger, const TrendQuestion& question);

}  // namespace nl::ops
