#pragma once
// Threads for library code. An exception that leaves a thread ends the whole process, and so does destroying
// a std::thread that was not joined. CheckedThread turns an exception into the error that join() returns, and
// joins in its destructor.

#include <functional>
#include <memory>
#include <thread>

#include "base/result.h"

namespace nl {

/// What is wrong, told by the exception that is being handled: `limit` if memory ran out, `cancelled`, else
/// `internal`.
Error error_of_exception() noexcept;

/// The Result of `work`; an exception becomes its error.
template <class Work>
auto without_exceptions(Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (...) {
    return error_of_exception();
  }
}

/// Owned and joined by one thread.
class CheckedThread {
 public:
  CheckedThread() = default;
  /// If the system has no thread left, join() says so.
  explicit CheckedThread(std::function<Result<void>()> work);
  CheckedThread(CheckedThread&&) noexcept = default;
  CheckedThread& operator=(CheckedThread&& other) noexcept;
  ~CheckedThread() { wait(); }

  bool is_started() const { return thread_.joinable(); }
  /// Waits for its end, then gives what the work returned or threw. May be called again.
  Result<void> join();

 private:
  void wait() {
    if (thread_.joinable()) thread_.join();
  }
  std::shared_ptr<Result<void>> result_ = {};
  bool has_no_memory_ = false;  ///< not even for the result
  std::thread thread_;
};

}  // namespace nl
