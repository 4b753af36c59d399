#pragma once
// Computes the strip of a device: what a window looks like over time, for pictures.

#include <vector>

#include "analyze/answer/strip.h"
#include "analyze/load/devices.h"

namespace nl::analyze {

/// A column for each of at most 240 equal stretches from the begin to the end of the window. What lies
/// between the pieces of the window counts for nothing.
std::vector<StripColumn> strip_of(const Device& device, const IntervalSet& window);

}  // namespace nl::analyze
