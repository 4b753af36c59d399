#pragma once
// A picture of a trend as a file of its own: one panel a group, each run a dot, levels as lines, changes
// marked.

#include <string>

#include "compare/trend_answer.h"

namespace nl::report {

/// At most 40 groups are drawn.
std::string trend_plot(const compare::Trend& trend);

}  // namespace nl::report
