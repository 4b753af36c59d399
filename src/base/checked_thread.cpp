#include "base/checked_thread.h"

#include <exception>
#include <new>
#include <system_error>

#include "base/call_control.h"
#include "base/paged_vector.h"

namespace nl {

/// Short texts: there may be no memory for longer ones.
Error error_of_exception() noexcept {
  try {
    throw;
  } catch (const Cancelled&) {
    return cancelled_error();
  } catch (const NoRoomForPages& error) {
    return {ErrorCode::kIo, error.what()};
  } catch (const std::bad_alloc&) {
    return {ErrorCode::kLimit, "out of memory"};
  } catch (const std::system_error& error) {
    return {ErrorCode::kUnavailable, error.what()};
  } catch (const std::exception& error) {
    return {ErrorCode::kInternal, error.what()};
  } catch (...) {
    return {ErrorCode::kInternal, "an exception"};
  }
}

CheckedThread::CheckedThread(std::function<Result<void>()> work) {
  try {
    result_ = std::make_shared<Result<void>>();
    thread_ = std::thread([work = std::move(work), result = result_] { *result = without_exceptions(work); });
  } catch (...) {
    has_no_memory_ = result_ == nullptr;
    if (result_) *result_ = error_of_exception();
  }
}

CheckedThread& CheckedThread::operator=(CheckedThread&& other) noexcept {
  wait();
  result_ = std::move(other.result_);
  has_no_memory_ = other.has_no_memory_;
  thread_ = std::move(other.thread_);
  return *this;
}

Result<void> CheckedThread::join() {
  wait();
  if (has_no_memory_) return Error{ErrorCode::kLimit, "out of memory"};
  return result_ ? *result_ : Result<void>();
}

}  // namespace nl
