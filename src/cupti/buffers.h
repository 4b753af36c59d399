#pragma once
// Memory that CUPTI writes records into: pieces that are used again, up to a limit. Beyond it CUPTI gets none
// and drops records, which it counts. Any thread.

#include <cstddef>
#include <cstdint>

namespace nl::cupti {

inline constexpr size_t kBufferBytes = 1 << 20;
inline constexpr size_t kMaxBuffers = 64;

/// nullptr if all are in use.
uint8_t* take_buffer();
void give_back(uint8_t* buffer);

}  // namespace nl::cupti
