#pragma once
// Marks the NVIDIA devices of a run that did some work. A device that worked but is not in the source's own
// list is added.

#include <cstdint>
#include <set>

#include "model/run_info.h"

namespace nl::ingest {

/// Listed devices are marked, others added as long as there are fewer than `most`; all in order of number.
void mark_active_devices(const std::set<int64_t>& numbers, size_t most, model::RunInfo& info);

}  // namespace nl::ingest
