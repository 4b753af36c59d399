#pragma once
// NamedLock: a lock (flock) on a file that says who holds it and what for. The kernel drops it when the
// process ends, however it ends, so nothing stale is left to clean up; what an ended holder wrote is not
// believed, because the lock is asked first.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"

namespace nl::lab {

enum class Use { kShared, kAlone };

struct LockHolder {
  std::string user;
  std::string purpose;  ///< such as "bench resnet"
  int64_t pid = 0;
  int64_t since_unix_ns = 0;
};

class NamedLock {
 public:
  /// `what` stands in messages, such as "the machine". `conflict` names the holder when the time is over.
  static Result<NamedLock> take(const std::string& path, Use use, const std::string& what,
                                const std::string& purpose, std::chrono::milliseconds wait);
  /// Who holds it now such that nobody could take it for this use, as far as they said; absent if nobody
  /// does, or there is no such file.
  static std::optional<LockHolder> holder(const std::string& path, Use wanted = Use::kAlone);

  NamedLock(NamedLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  NamedLock& operator=(NamedLock&&) = delete;
  ~NamedLock();

 private:
  explicit NamedLock(int file) : file_(file) {}
  int file_;
};

/// ben for "bench resnet" (process 4711, since 2026-11-19 14:02)
std::string holder_text(const std::optional<LockHolder>& holder);

}  // namespace nl::lab
