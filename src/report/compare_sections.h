#pragma once
// The content of a comparison report, in its order. It is made from an answer that was computed with figures.

#include <vector>

#include "compare/answer.h"
#include "report/sections.h"

namespace nl::report {

/// The difference, the work, devices, statistics, comparability and definitions; across hardware or backends
/// first what can be compared there.
std::vector<Chapter> compare_chapters(const compare::Comparison& comparison);

/// Parts and changes in few columns; `top` rows.
Table short_parts_table(const compare::Comparison& comparison, size_t top);
Table short_changes_table(const compare::Comparison& comparison, size_t top);
/// Factors that take the comparability down.
Table unlike_table(const compare::Comparison& comparison, size_t top);

}  // namespace nl::report
