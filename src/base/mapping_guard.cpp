#include "base/mapping_guard.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <utility>

namespace nl {
namespace {

/// A handler can reach nothing but what is global, and may not wait.
struct GuardedRange {
  std::atomic<uintptr_t> begin{0};
  std::atomic<size_t> bytes{0};  ///< 0: free
  std::atomic<bool> is_cut{false};
};
constexpr int kMostRanges = 16 << 10;
std::array<GuardedRange, kMostRanges> ranges;

struct Handler {
  std::mutex mutex = {};
  int users = 0;               // under the mutex
  int next = 0;                // where to look for a free range first
  struct sigaction before {};  // written while the handler is not installed
  uintptr_t page_bytes = 4096;
};
Handler handler;

extern "C" void replace_missing_page(int number, siginfo_t* info, void*) {
  const int kept_errno = errno;
  const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
  for (GuardedRange& range : ranges) {
    const size_t bytes = range.bytes.load(std::memory_order_acquire);
    if (bytes == 0 || at - range.begin.load(std::memory_order_relaxed) >= bytes) continue;
    void* const page = reinterpret_cast<void*>(at & ~(handler.page_bytes - 1));
    if (::mmap(page, handler.page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
               0) == MAP_FAILED)
      break;
    range.is_cut.store(true, std::memory_order_relaxed);
    errno = kept_errno;
    return;
  }
  ::sigaction(number, &handler.before, nullptr);  // not ours: it happens again, for whoever was there before
  errno = kept_errno;
}

int take_range(uintptr_t begin, size_t bytes) {
  for (int tries = 0; tries < kMostRanges; tries++) {
    const int number = handler.next;
    handler.next = (handler.next + 1) % kMostRanges;
    GuardedRange& range = ranges[static_cast<size_t>(number)];
    if (range.bytes.load(std::memory_order_relaxed) != 0) continue;
    range.begin.store(begin, std::memory_order_relaxed);
    range.is_cut.store(false, std::memory_order_relaxed);
    range.bytes.store(bytes, std::memory_order_release);
    return number;
  }
  return -1;
}

void install() {
  handler.page_bytes = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  ::sigaction(SIGBUS, nullptr, &handler.before);
  struct sigaction action {};
  action.sa_sigaction = replace_missing_page;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace

MappingGuard::MappingGuard(void* memory, size_t bytes) {
  const std::lock_guard lock(handler.mutex);
  slot_ = take_range(reinterpret_cast<uintptr_t>(memory), bytes);
  if (slot_ >= 0 && handler.users++ == 0) install();
}

MappingGuard::MappingGuard(MappingGuard&& other) noexcept : slot_(std::exchange(other.slot_, -1)) {}

MappingGuard::~MappingGuard() {
  if (slot_ < 0) return;
  const std::lock_guard lock(handler.mutex);
  ranges[static_cast<size_t>(slot_)].bytes.store(0, std::memory_order_release);
  if (--handler.users == 0) ::sigaction(SIGBUS, &handler.before, nullptr);
}

bool MappingGuard::is_cut() const {
  return slot_ >= 0 && ranges[static_cast<size_t>(slot_)].is_cut.load(std::memory_order_relaxed);
}

}  // namespace nl
