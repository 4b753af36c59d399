#include "unit/failing_memory.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<int64_t> allocations_left = -1;  // -1: none fails
thread_local bool is_spared = false;

void* allocate_or_throw(std::size_t size) {
  if (allocations_left.load(std::memory_order_relaxed) >= 0 && !is_spared &&
      allocations_left.fetch_sub(1, std::memory_order_relaxed) == 0)
    throw std::bad_alloc();
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) {
  return allocate_or_throw(size);
}
void* operator new[](std::size_t size) {
  return allocate_or_throw(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace nl {

FailingMemory::FailingMemory(int64_t others) {
  is_spared = true;
  allocations_left = others;
}

FailingMemory::~FailingMemory() {
  allocations_left = -1;
  is_spared = false;
}

bool FailingMemory::has_failed() const {
  return allocations_left < 0;
}

}  // namespace nl
