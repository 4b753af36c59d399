#pragma once
// Result<T>: a value or an Error, with the member names of std::expected (which g++ 12 does not have in
// C++20). Core code returns it. Exceptions of other libraries are caught where those libraries are called.

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace nl {

enum class ErrorCode {
  kBadInput,
  kUnsupported,
  kNotFound,
  kConflict,
  kPermission,
  kUnavailable,
  kIo,
  kLimit,
  kCancelled,  ///< whoever called asked for it to stop; nothing half-done is left
  kInternal,
};

/// The stable spelling used in JSON output, e.g. "bad_input".
const char* error_code_name(ErrorCode code);

/// A call that a person or an agent may make next. A command line, a server and an agent's protocol each
/// spell it their own way.
struct SuggestedCall {
  std::string operation;
  /// JSON object, its members in the order in which they are to be spelled. Words in capitals (RUN, FILE,
  /// NAME) stand for what the caller fills in.
  std::string parameters = "{}";
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;    ///< what failed, run-time values at the end
  std::string hint = {};  ///< what to do about it; may be empty. Each {} stands for one of the calls
  std::vector<SuggestedCall> calls = {};
};

/// What a call returns that was asked to stop.
inline Error cancelled_error() {
  return {ErrorCode::kCancelled, "cancelled"};
}

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  Error& error() { return std::get<1>(state_); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool has_value() const { return !error_; }
  explicit operator bool() const { return has_value(); }
  Error& error() { return *error_; }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace nl

#define NL_CONCAT_(a, b) a##b
#define NL_CONCAT(a, b) NL_CONCAT_(a, b)
#define NL_TRY_(tmp, var, expr)            \
  auto tmp = (expr);                       \
  if (!tmp) return std::move(tmp.error()); \
  var = std::move(tmp).value()
/// NL_TRY(auto x, f()): x is the value of f(), or the enclosing function returns its error.
#define NL_TRY(var, expr) NL_TRY_(NL_CONCAT(nl_try_, __LINE__), var, expr)
#define NL_CHECK_(tmp, expr) \
  if (auto tmp = (expr); !tmp) return std::move(tmp.error())
/// NL_CHECK(f()): the enclosing function returns the error of f(), if any.
#define NL_CHECK(expr) NL_CHECK_(NL_CONCAT(nl_check_, __LINE__), expr)
