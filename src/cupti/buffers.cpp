#include "cupti/buffers.h"

#include <sys/mman.h>

#include <atomic>

namespace nl::cupti {
namespace {

struct Buffer {
  std::atomic<bool> is_used;
  std::atomic<uint8_t*> memory;
};
constinit Buffer buffers[kMaxBuffers] = {};

}  // namespace

uint8_t* take_buffer() {
  for (Buffer& buffer : buffers) {
    if (buffer.is_used.exchange(true, std::memory_order_acquire)) continue;
    if (uint8_t* const memory = buffer.memory.load(std::memory_order_relaxed)) return memory;
    void* const memory =
        mmap(nullptr, kBufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) {
      buffer.memory.store(static_cast<uint8_t*>(memory), std::memory_order_relaxed);
      return static_cast<uint8_t*>(memory);
    }
    buffer.is_used.store(false, std::memory_order_release);
    return nullptr;
  }
  return nullptr;
}

void give_back(uint8_t* given) {
  for (Buffer& buffer : buffers) {
    if (buffer.memory.load(std::memory_order_relaxed) != given) continue;
    buffer.is_used.store(false, std::memory_order_release);
    return;
  }
}

}  // namespace nl::cupti
