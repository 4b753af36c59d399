#pragma once
// What the parameters of a question about many runs ask for: which runs, in which groups, by which figure.

#include "base/json.h"
#include "base/result.h"
#include "compare/trend_answer.h"
#include "ops/runs/run_figure.h"
#include "ops/runs/run_history.h"

namespace nl::ops {

/// By `metric`, or by `kernel` or `class` instead of it; bad_input if both are given.
Result<RunFigure> figure_asked(const nlohmann::json& parameters);

/// By `where`, `tag`, `group_by`, `limit`, and `order` if there is one.
Result<HistoryQuestion> history_asked(const nlohmann::json& parameters);

compare::GroupValues group_values(const RunGroupHistory& group, const std::vector<std::string>& keys);

}  // namespace nl::ops
