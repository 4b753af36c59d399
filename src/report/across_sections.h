#pragma once
// The chapter of a comparison across hardware or backends: both devices with what their makers promise, where
// the time went by shares, and each op against what the peaks alone would make of it.

#include "base/json.h"
#include "report/sections.h"

namespace nl::report {

/// `comparison["across"]` is not null.
Chapter across_chapter(const nlohmann::json& comparison);
/// Ops or classes in few columns; `top` rows.
Table short_across_table(const nlohmann::json& comparison, size_t top);
/// How much of the busy time of both sides is in common, and what the ops lose against the peaks.
std::vector<std::string> across_summary(const nlohmann::json& comparison);

}  // namespace nl::report
