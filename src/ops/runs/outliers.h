#pragma once
// Outliers: which of many runs of one kind are unlike the others, and which of their classes of kernels,
// layers of the model and steps. Each is held against its peers: the same thing in the other runs, or the
// other steps of the run.

#include "base/result.h"
#include "compare/outliers_answer.h"
#include "ops/operation.h"
#include "ops/runs/run_figure.h"
#include "ops/runs/run_history.h"

namespace nl::ops {

struct OutlierQuestion {
  HistoryQuestion history;
  RunFigure figure;
  double threshold = 0.05;
  size_t top = 20;  ///< of each group
};

Result<compare::Outliers> outliers_of(Context& context, store::Ledger& ledger,
                                      const OutlierQuestion& question);

}  // namespace nl::ops
