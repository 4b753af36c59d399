#include "analyze/copy_kinds.h"

#include "base/text.h"

namespace nl::analyze {
std::string_view copy_direction_name(CopyDirection direction) {
  static constexpr std::string_view kNames[] = {"h2d", "d2h", "d2d", "memset", "unknown"};
  return kNames[static_cast<size_t>(direction)];
}

CopyDirection copy_direction(std::string_view name) {
  if (has_part(name, "HtoD") || has_part(name, "HostToDevice")) return CopyDirection::kHostToDevice;
  if (has_part(name, "DtoH") || has_part(name, "DeviceToHost")) return CopyDirection::kDeviceToHost;
  for (const std::string_view part : {"DtoD", "PtoP", "DeviceToDevice"}) {
    if (has_part(name, part)) return CopyDirection::kDeviceToDevice;
  }
  if (has_part(name, "Memset") || has_part(name, "memset")) return CopyDirection::kSet;
  return CopyDirection::kUnknown;
}

HostMemory host_memory(std::string_view name) {
  if (has_part(name, "Pageable")) return HostMemory::kPageable;
  if (has_part(name, "Pinned")) return HostMemory::kPinned;
  return HostMemory::kUnknown;
}

}  // namespace nl::analyze
