#pragma once
// Reads the direction of a copy and the kind of its host memory from the name that CUPTI and roctracer give
// it, such as "Memcpy HtoD (Pageable -> Device)".

#include <string_view>

namespace nl::analyze {

enum class CopyDirection : uint8_t { kHostToDevice, kDeviceToHost, kDeviceToDevice, kSet, kUnknown };
enum class HostMemory : uint8_t { kPageable, kPinned, kUnknown };

std::string_view copy_direction_name(CopyDirection direction);
CopyDirection copy_direction(std::string_view name);
HostMemory host_memory(std::string_view name);

}  // namespace nl::analyze
