#pragma once
// PinnedThread: the calling thread, and what it starts meanwhile, runs on some processors only.

#include <sched.h>

#include <string>

#include "base/result.h"

namespace nl::lab {

class PinnedThread {
 public:
  /// "0-3,8"; empty: as it was. `unavailable` if the machine has no such processor.
  static Result<PinnedThread> pin(const std::string& processors);
  PinnedThread(PinnedThread&& other) noexcept : before_(other.before_), is_pinned_(other.is_pinned_) {
    other.is_pinned_ = false;
  }
  PinnedThread& operator=(PinnedThread&&) = delete;
  ~PinnedThread();

 private:
  PinnedThread() = default;
  cpu_set_t before_ = {};
  bool is_pinned_ = false;
};

}  // namespace nl::lab
