#pragma once
// CallControl: how the caller of an operation can stop it and learn how far it has come. Whoever runs an
// operation enters a CallScope on the thread that does the work. Code below calls check_cancelled() wherever
// it may work or wait for long, so no signature needs an extra parameter. A CancelHook interrupts work that
// cannot ask, such as a query of the engine. Threads that a call starts are not in its scope.

#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"

namespace nl {

struct CallControl {
  std::function<bool()> cancelled = {};  ///< asked from any thread; empty: never
  std::function<void(const std::string& what, double fraction)> progress = {};  ///< fraction: 0 to 1
  std::function<void(const std::string& text)> notice = {};  ///< for a warning beside the answer
};

class CancelWatch;

/// The calls of one thread may nest; the innermost counts.
class CallScope {
 public:
  explicit CallScope(CallControl control);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  friend class CancelHook;
  friend bool is_cancelled();
  friend void report_progress(const std::string& what, double fraction);
  friend void report_notice(const std::string& text);

  CallControl control_;
  std::shared_ptr<CancelWatch> watch_;  ///< started with the first hook
  CallScope* around_;
};

/// Was the call of this thread cancelled?
bool is_cancelled();
/// The error `cancelled` if it was.
Result<void> check_cancelled();
void report_progress(const std::string& what, double fraction);
/// Something that whoever gets the answer should know, though it does not change the answer.
void report_notice(const std::string& text);

/// What a loop inside of a function without a Result throws. Caught where the call began.
struct Cancelled : std::exception {
  const char* what() const noexcept override { return "cancelled"; }
};

/// For loops over millions of rows: asks every 4096th time, and throws Cancelled.
class CancelPoll {
 public:
  void operator()() {
    if ((++count_ & 4095U) == 0 && is_cancelled()) throw Cancelled();
  }

 private:
  unsigned count_ = 0;
};

/// Throws Cancelled if the call of this thread was cancelled.
void stop_if_cancelled();

/// Called from another thread, again and again from the moment on that the call is cancelled until the hook
/// is gone. Does nothing outside of a scope.
class CancelHook {
 public:
  explicit CancelHook(std::function<void()> on_cancel);
  ~CancelHook();
  CancelHook(const CancelHook&) = delete;
  CancelHook& operator=(const CancelHook&) = delete;

 private:
  std::shared_ptr<CancelWatch> watch_;
  size_t id_ = 0;
};

}  // namespace nl
