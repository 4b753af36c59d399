#pragma once
// Owned time: each moment in which a device is busy belongs to exactly one piece of its work. Compute comes
// before communication, communication before copies, and among equals the one that started first: the sums
// are compute, exposed communication and exposed copies of the decomposition, to the nanosecond.

#include <functional>

#include "analyze/load/devices.h"

namespace nl::compare {

/// Calls give(index in device.work, stretch of time) in order of time; the stretches together are the busy
/// time of the device.
void for_owned_time(const analyze::Device& device,
                    const std::function<void(size_t work, analyze::Interval time)>& give);

}  // namespace nl::compare
