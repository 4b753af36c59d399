#pragma once
// The roofline of a device as a picture: operations per second over operations per byte, both logarithmic. It
// shows the roofs of the memory and of the data types that occur, and each op as a circle whose size shows
// its time.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/answer/roofline.h"

namespace nl::report {

/// An op or a kernel.
struct RoofPoint {
  std::string name;
  std::string dtype;
  std::optional<double> intensity;
  std::optional<double> flops_per_s;
  int64_t time_ns = 0;
  bool memory_bound = false;
};

struct RoofPicture {
  Known<analyze::PeaksAnswer> peaks;
  std::vector<RoofPoint> points;
};

/// Empty if there is no op with operations and bytes, or no peak. `width` in CSS pixels: texts keep their
/// size, so that a narrow screen gets a picture of its own.
std::string roofline_plot(const RoofPicture& picture, double width, std::string_view css_class);

}  // namespace nl::report
