#pragma once
// The chapter of a comparison across hardware or backends: both devices with the peaks that their makers
// publish, where the time went in shares, and each op compared with the ratio that the peaks alone predict.

#include "compare/answer.h"
#include "report/sections.h"

namespace nl::report {

/// `across` is that of the comparison.
Chapter across_chapter(const compare::Comparison& comparison, const compare::Across& across);
/// Ops or classes in few columns; `top` rows.
Table short_across_table(const compare::Across& across, size_t top);
/// How much of the busy time of both sides is in common, and what the ops lose against the peaks.
std::vector<std::string> across_summary(const compare::Across& across);

}  // namespace nl::report
