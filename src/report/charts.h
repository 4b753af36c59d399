#pragma once
// The pictures of a report as SVG, in the colours of the page. They stretch to their box and therefore
// contain no text; legends and axes are HTML around them.

#include <string>
#include <vector>

#include "analyze/answer/device.h"
#include "analyze/answer/window.h"

namespace nl::report {

/// The parts of the window as one bar.
std::string decomposition_chart(const analyze::Decomposition& time);
/// The same over time: each column is a stretch of the window. It fills `share` of the width.
std::string strip_chart(const std::vector<analyze::StripColumn>& strip, double share = 1,
                        const char* css_class = "strip");
/// Each step a column as high as it is long, with the parts of the device.
std::string steps_chart(const analyze::StepsAnswer& steps, const analyze::DeviceName& device);
/// The largest value of the samples of memory: the top of the picture.
int64_t most_memory(const analyze::MemoryAnswer& memory);
/// Allocated and reserved bytes over time.
std::string memory_chart(const analyze::MemoryAnswer& memory, int64_t window_ns);

}  // namespace nl::report
