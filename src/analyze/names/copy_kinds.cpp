#include "analyze/names/copy_kinds.h"

#include <algorithm>

#include "base/text.h"

namespace nl::analyze {
std::string_view copy_direction_name(CopyDirection direction) {
  static constexpr std::string_view kNames[] = {"h2d", "d2h", "d2d", "memset", "unknown"};
  return kNames[static_cast<size_t>(direction)];
}

CopyDirection copy_direction(std::string_view name) {
  const auto has_one = [&](std::initializer_list<std::string_view> parts) {
    return std::any_of(parts.begin(), parts.end(),
                       [&](std::string_view part) { return has_part(name, part); });
  };
  if (has_one({"HtoD", "HostToDevice", "HOST_TO_DEVICE"})) return CopyDirection::kHostToDevice;
  if (has_one({"DtoH", "DeviceToHost", "DEVICE_TO_HOST"})) return CopyDirection::kDeviceToHost;
  if (has_one({"DtoD", "PtoP", "DeviceToDevice", "DEVICE_TO_DEVICE"})) return CopyDirection::kDeviceToDevice;
  if (has_part(name, "Memset") || has_part(name, "memset")) return CopyDirection::kSet;
  return CopyDirection::kUnknown;
}

HostMemory host_memory(std::string_view name) {
  if (has_part(name, "Pageable")) return HostMemory::kPageable;
  if (has_part(name, "Pinned")) return HostMemory::kPinned;
  return HostMemory::kUnknown;
}

}  // namespace nl::analyze
