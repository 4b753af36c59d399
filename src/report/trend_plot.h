#pragma once
// The picture of a trend as a separate file: one panel per group, each run a dot, levels as lines, and
// changes marked.

#include <string>

#include "compare/trend_answer.h"

namespace nl::report {

/// At most 40 groups are drawn.
std::string trend_plot(const compare::Trend& trend);

}  // namespace nl::report
