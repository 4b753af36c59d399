#pragma once
// Strip: how a window of a device looks over time, for pictures.

#include "analyze/load/devices.h"
#include "base/json.h"

namespace nl::analyze {

/// For each of at most 240 equal stretches from the begin to the end of the window, the ns of each part of
/// the decomposition: compute, exposed communication, exposed copies, idle. What lies between the pieces of
/// the window counts for nothing.
nlohmann::json strip_json(const Device& device, const IntervalSet& window);

}  // namespace nl::analyze
