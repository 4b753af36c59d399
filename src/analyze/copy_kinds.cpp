#include "analyze/copy_kinds.h"

namespace nl::analyze {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

std::string_view copy_direction_name(CopyDirection direction) {
  static constexpr std::string_view kNames[] = {"h2d", "d2h", "d2d", "memset", "unknown"};
  return kNames[static_cast<size_t>(direction)];
}

CopyDirection copy_direction(std::string_view name) {
  if (has(name, "HtoD") || has(name, "HostToDevice")) return CopyDirection::kHostToDevice;
  if (has(name, "DtoH") || has(name, "DeviceToHost")) return CopyDirection::kDeviceToHost;
  for (const std::string_view part : {"DtoD", "PtoP", "DeviceToDevice"}) {
    if (has(name, part)) return CopyDirection::kDeviceToDevice;
  }
  if (has(name, "Memset") || has(name, "memset")) return CopyDirection::kSet;
  return CopyDirection::kUnknown;
}

HostMemory host_memory(std::string_view name) {
  if (has(name, "Pageable")) return HostMemory::kPageable;
  if (has(name, "Pinned")) return HostMemory::kPinned;
  return HostMemory::kUnknown;
}

}  // namespace nl::analyze
