#include "store/run_lease.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "base/call_control.h"
#include "base/files.h"

namespace nl::store {
namespace {

constexpr int kReaderWaitMs = 30'000;
constexpr auto kPause = std::chrono::milliseconds(5);

/// Another folder may have taken the name while we waited for this one.
bool is_still_there(int folder, const std::string& path) {
  struct stat held {
  }, named{};
  return ::fstat(folder, &held) == 0 && ::stat(path.c_str(), &named) == 0 && held.st_dev == named.st_dev &&
         held.st_ino == named.st_ino;
}

}  // namespace

RunLease::~RunLease() {
  if (folder_ >= 0) ::close(folder_);
}

Result<RunLease> RunLease::take(const std::string& bundle, int how, int wait_ms) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
  for (;;) {
    const int folder = ::open(bundle.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return errno_error("cannot open", bundle, errno);
    RunLease lease(folder);
    const bool locked = ::flock(folder, how | LOCK_NB) == 0;
    const bool is_busy = !locked && (errno == EWOULDBLOCK || errno == EINTR);
    if (!locked && !is_busy) return lease;  // no such locks here
    if (locked && is_still_there(folder, bundle)) return lease;
    if (locked) continue;
    NL_CHECK(check_cancelled());
    if (std::chrono::steady_clock::now() >= end) {
      return Error{ErrorCode::kConflict, "the run is in use: " + bundle,
                   "try again when its readers are done"};
    }
    std::this_thread::sleep_for(kPause);
  }
}

Result<RunLease> RunLease::share(const std::string& bundle) {
  return take(bundle, LOCK_SH, kReaderWaitMs);
}

Result<RunLease> RunLease::alone(const std::string& bundle, int wait_ms) {
  return take(bundle, LOCK_EX, wait_ms);
}

}  // namespace nl::store
