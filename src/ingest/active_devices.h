#pragma once
// NVIDIA devices of a run that did some work, listed by the source or not.

#include <cstdint>
#include <set>

#include "model/run_info.h"

namespace nl::ingest {

/// Listed devices are marked, others added as long as there are fewer than `most`; all in order of number.
void mark_active_devices(const std::set<int64_t>& numbers, size_t most, model::RunInfo& info);

}  // namespace nl::ingest
