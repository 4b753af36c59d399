#pragma once
// Pictures of a report as SVG that takes its colours from the page. They stretch to their box and hold no
// text; legends and axes are HTML around them.

#include <string>

#include "base/json.h"

namespace nl::report {

/// The parts of the window as one bar.
std::string decomposition_chart(const nlohmann::json& device);
/// The same over time: each column is a stretch of the window. It fills `share` of the width.
std::string strip_chart(const nlohmann::json& strip, double share = 1, const char* css_class = "strip");
/// Each step a column as high as it is long, with the parts of the device.
std::string steps_chart(const nlohmann::json& steps, const nlohmann::json& device);
/// The largest value of the samples of memory: the top of the picture.
int64_t most_memory(const nlohmann::json& device);
/// Allocated and reserved bytes over time.
std::string memory_chart(const nlohmann::json& device, int64_t window_ns);

}  // namespace nl::report
