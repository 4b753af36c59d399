#pragma once
// The buffers that CUPTI writes its records into. They are reused, and their number is limited. When all are
// in use, CUPTI gets none and drops records; it counts these. Any thread.

#include <cstddef>
#include <cstdint>

namespace nl::cupti {

inline constexpr size_t kBufferBytes = 1 << 20;
inline constexpr size_t kMaxBuffers = 64;

/// nullptr if all are in use.
uint8_t* take_buffer();
void give_back(uint8_t* buffer);

}  // namespace nl::cupti
