#include "base/call_control.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace nl {
namespace {

constexpr auto kPeriod = std::chrono::milliseconds(10);

thread_local CallScope* innermost = nullptr;

}  // namespace

/// Asks whether the call was cancelled, on a thread of its own, and tells the hooks.
class CancelWatch {
 public:
  explicit CancelWatch(std::function<bool()> cancelled)
      : cancelled_(std::move(cancelled)), thread_([this] { watch(); }) {}
  ~CancelWatch() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  size_t add(std::function<void()> on_cancel) {
    const std::lock_guard lock(mutex_);
    hooks_[next_] = std::move(on_cancel);
    return next_++;
  }
  /// Afterwards it is not called any more, nor being called.
  void remove(size_t id) {
    const std::lock_guard lock(mutex_);
    hooks_.erase(id);
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, kPeriod, [this] { return done_; })) {
      lock.unlock();  // the caller's function may take long, or take a lock of its own
      const bool cancelled = cancelled_();
      lock.lock();
      if (!cancelled) continue;
      for (const auto& [id, on_cancel] : hooks_) on_cancel();
    }
  }

  const std::function<bool()> cancelled_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<size_t, std::function<void()>> hooks_;
  size_t next_ = 1;
  bool done_ = false;
  std::thread thread_;
};

CallScope::CallScope(CallControl control) : control_(std::move(control)), around_(innermost) {
  innermost = this;
}

CallScope::~CallScope() {
  innermost = around_;
}

bool is_cancelled() {
  return innermost != nullptr && innermost->control_.cancelled && innermost->control_.cancelled();
}

Result<void> check_cancelled() {
  return is_cancelled() ? Result<void>(cancelled_error()) : Result<void>();
}

void stop_if_cancelled() {
  if (is_cancelled()) throw Cancelled();
}

void report_progress(const std::string& what, double fraction) {
  if (innermost != nullptr && innermost->control_.progress) innermost->control_.progress(what, fraction);
}

void report_notice(const std::string& text) {
  if (innermost != nullptr && innermost->control_.notice) innermost->control_.notice(text);
}

CancelHook::CancelHook(std::function<void()> on_cancel) {
  CallScope* scope = innermost;
  if (scope == nullptr || !scope->control_.cancelled) return;
  if (!scope->watch_) scope->watch_ = std::make_shared<CancelWatch>(scope->control_.cancelled);
  watch_ = scope->watch_;
  id_ = watch_->add(std::move(on_cancel));
}

CancelHook::~CancelHook() {
  if (watch_) watch_->remove(id_);
}

}  // namespace nl
