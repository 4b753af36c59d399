#pragma once
// A picture of a trend as a file of its own: one panel a group, each run a dot, levels as lines, changes
// marked.

#include <string>

#include "base/json.h"

namespace nl::report {

/// `trend`: the data of the operation `trend`. At most 40 groups are drawn.
std::string trend_plot(const nlohmann::json& trend);

}  // namespace nl::report
