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

/// The same for who asks for some of the names only.
class HostCallsByName {
 public:
  explicit HostCallsByName(const Names& names) : names_(names), known_(names.size(), kUnknown) {}
  HostCall operator[](uint32_t name) {
    if (known_[name] == kUnknown) known_[name] = static_cast<uint8_t>(host_call(names_[name]));
    return static_cast<HostCall>(known_[name]);
  }

 private:
  static constexpr uint8_t kUnknown = UINT8_MAX;
  const Names& names_;
  std::vector<uint8_t> known_;
};

}  // namespace nl::analyze
