#pragma once
// What a call of the host is for, told by its name: CUDA and HIP runtime and driver functions, and data
// loaders.

#include <string_view>
#include <vector>

#include "analyze/load/timeline.h"

namespace nl::analyze {

enum class HostCall : uint8_t { kOther, kSync, kAlloc, kGraphLaunch, kDataLoading };

HostCall host_call(std::string_view name);
/// Of each name of a run, by its id.
std::vector<HostCall> host_calls(const Names& names);

}  // namespace nl::analyze
