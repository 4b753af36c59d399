#pragma once
// Tells from the name of a host call what it is for: waiting, allocating, launching a graph or loading data.
// Knows the CUDA and HIP runtime and driver functions and common data loaders.

#include <string_view>
#include <vector>

#include "analyze/load/timeline.h"

namespace nl::analyze {

enum class HostCall : uint8_t { kOther, kSync, kAlloc, kGraphLaunch, kDataLoading };

HostCall host_call(std::string_view name);
/// Of each name of a run, by its id.
std::vector<HostCall> host_calls(const Names& names);

}  // namespace nl::analyze
