#pragma once
// What a report of a comparison says, in its order, made from the data of `compare` with figures.

#include <vector>

#include "base/json.h"
#include "report/sections.h"

namespace nl::report {

/// The difference, the work, devices, statistics, comparability and definitions; across hardware or backends
/// first what can be compared there.
std::vector<Chapter> compare_chapters(const nlohmann::json& comparison);

/// Parts and changes in few columns; `top` rows.
Table short_parts_table(const nlohmann::json& comparison, size_t top);
Table short_changes_table(const nlohmann::json& comparison, size_t top);
/// Factors that take the comparability down.
Table unlike_table(const nlohmann::json& comparison, size_t top);

}  // namespace nl::report
