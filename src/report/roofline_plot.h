#pragma once
// The roofline of a device: operations per second over operations per byte, both logarithmic, with the roofs
// of memory and of the dtypes that occur, and ops as circles as large as their time.

#include <string>

#include "base/json.h"

namespace nl::report {

/// Empty if there is no op with operations and bytes, or no peak. `width` in CSS pixels: texts keep their
/// size, so that a narrow screen gets a picture of its own.
std::string roofline_plot(const nlohmann::json& roofline, double width, std::string_view css_class);

}  // namespace nl::report
