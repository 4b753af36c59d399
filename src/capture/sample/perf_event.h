#pragma once
// The kernel's perf_event interface: opens events for the calling thread, reads the rings that the kernel
// writes, and explains a refusal.

#include <linux/perf_event.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nl::capture {

/// An event of the calling thread, and of all it starts if it is inherited. `processor` -1: on any. The
/// descriptor, or less than 0: the error number, negated.
int open_perf_event(const perf_event_attr& attributes, int processor);

struct PerfRefusal {
  bool is_forbidden = false;
  std::string reason;
  std::string fix = {};  ///< empty if nothing here can help
};
PerfRefusal perf_refusal(int error_number);

/// For read_format: an event counts the records that its ring had no room for. Linux 6.0; headers may be
/// older.
inline constexpr uint64_t kCountLosses = 1 << 4;

/// What the kernel writes of one event on one processor. One thread.
class PerfRing {
 public:
  /// Owns the descriptor. Where so much memory may not be locked, the ring becomes smaller.
  static Result<PerfRing> map(int fd, size_t bytes);
  PerfRing(PerfRing&& other) noexcept;
  PerfRing& operator=(PerfRing&&) = delete;
  ~PerfRing();

  int fd() const { return fd_; }
  /// Hands out each record that is there, without its header, and gives its room back.
  using Take = std::function<void(const perf_event_header&, std::string_view body)>;
  void drain(const Take& take);
  /// Records that found no room so far, of an event with kCountLosses alone as read_format.
  uint64_t lost() const;

 private:
  PerfRing(int fd, void* memory, size_t bytes) : fd_(fd), memory_(memory), bytes_(bytes) {}
  void copy(uint64_t position, void* out, size_t bytes) const;

  int fd_;
  void* memory_;
  size_t bytes_;  ///< without the first page, which holds the positions
};

}  // namespace nl::capture
