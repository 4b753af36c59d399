#pragma once
// RunLease: marks a run's folder as in use, across processes. Readers share it; whoever replaces or removes
// the run takes it alone. It is a lock (flock) on the folder itself, so it ends with its process and needs no
// extra file. On a file system without such locks, a lease protects nothing but is not an error.

#include <string>
#include <utility>

#include "base/result.h"

namespace nl::store {

class RunLease {
 public:
  RunLease(RunLease&& other) noexcept : folder_(std::exchange(other.folder_, -1)) {}
  RunLease& operator=(RunLease&&) = delete;
  ~RunLease();

  /// For a reader. Waits while the run is being replaced; what it gets is the run that is there now.
  static Result<RunLease> share(const std::string& bundle);
  /// To replace or remove it. `conflict` if the run is still in use when the time is over.
  static Result<RunLease> alone(const std::string& bundle, int wait_ms);

 private:
  explicit RunLease(int folder) : folder_(folder) {}
  static Result<RunLease> take(const std::string& bundle, int how, int wait_ms);
  int folder_;
};

}  // namespace nl::store
