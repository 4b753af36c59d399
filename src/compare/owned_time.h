#pragma once
// Owned time: each moment in which a device is busy belongs to exactly one piece of work. Compute has
// priority over communication, and communication over copies; within one kind, the piece that started first
// has priority. So the sums are exactly the compute, exposed communication and exposed copies of the
// decomposition.

#include <functional>

#include "analyze/load/devices.h"

namespace nl::compare {

/// Calls give(index in device.work, stretch of time) in order of time; the stretches together are the busy
/// time of the device.
void for_owned_time(const analyze::Device& device,
                    const std::function<void(size_t work, analyze::Interval time)>& give);

}  // namespace nl::compare
