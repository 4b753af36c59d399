#include "analyze/load/host_calls.h"

#include "base/text.h"

namespace nl::analyze {
namespace {

/// The name without its vendor's prefix: Malloc of cudaMalloc, StreamSynchronize of cuStreamSynchronize.
std::string_view function_of(std::string_view name) {
  for (const std::string_view prefix : {"cuda", "hip", "cu", "mtia", "xpu", "hsa_"}) {
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  }
  return {};
}

/// Calls that return when the device has done something. Plain copies wait for their end.
bool waits(std::string_view function) {
  if (has_part(function, "Synchronize")) return true;
  return function.starts_with("Memcpy") && !has_part(function, "Async");
}

bool allocates(std::string_view function) {
  for (const std::string_view start :
       {"Malloc", "Free", "HostAlloc", "HostMalloc", "HostFree", "HostRegister", "HostUnregister", "MemAlloc",
        "MemFree", "MemCreate", "MemRelease", "MemMap", "MemUnmap", "ExtMalloc"}) {
    if (function.starts_with(start)) return true;
  }
  return false;
}

}  // namespace

HostCall host_call(std::string_view name) {
  if (const std::string_view function = function_of(name); !function.empty()) {
    if (waits(function)) return HostCall::kSync;
    if (has_part(function, "GraphLaunch")) return HostCall::kGraphLaunch;
    if (allocates(function)) return HostCall::kAlloc;
  }
  if (name.starts_with("enumerate(DataLoader)") || has_part(name, "DataLoaderIter.__next__")) {
    return HostCall::kDataLoading;
  }
  return HostCall::kOther;
}

std::vector<HostCall> host_calls(const Names& names) {
  std::vector<HostCall> calls;
  for (size_t i = 0; i < names.size(); i++) calls.push_back(host_call(names[static_cast<uint32_t>(i)]));
  return calls;
}

}  // namespace nl::analyze
