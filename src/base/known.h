#pragma once
// Known<T>: a value, or the reason why there is none. Unknown is not zero: a figure whose inputs are missing
// is absent, and everything computed from it is absent for the same reason.

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace nl {

/// Why a value is absent, e.g. "no shapes in the source". Converts into any absent Known<T>.
struct Absent {
  std::string reason;
};

template <class T>
class [[nodiscard]] Known {
 public:
  using value_type = T;

  Known(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Known(Absent absent) : state_(std::in_place_index<1>, std::move(absent)) {}
  static Known absent(std::string reason) { return Absent{std::move(reason)}; }

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T value_or(T other) const { return has_value() ? value() : std::move(other); }
  std::optional<T> optional() const { return has_value() ? std::optional<T>(value()) : std::nullopt; }

  /// Empty if there is a value.
  std::string reason() const { return has_value() ? std::string() : std::get<1>(state_).reason; }

 private:
  std::variant<T, Absent> state_;
};

template <class T>
inline constexpr bool kIsKnown = false;
template <class T>
inline constexpr bool kIsKnown<Known<T>> = true;

/// Known<R> for a function that gives R or Known<R>.
template <class R>
using KnownOf = std::conditional_t<kIsKnown<R>, R, Known<std::conditional_t<kIsKnown<R>, int, R>>>;

/// fn(*a), or a's reason. fn may itself find its result absent by returning a Known.
template <class A, class Fn>
auto map(const Known<A>& a, Fn&& fn) -> KnownOf<std::invoke_result_t<Fn, const A&>> {
  if (!a) return Absent{a.reason()};
  return std::forward<Fn>(fn)(*a);
}

/// fn(*a, *b), or the first reason.
template <class A, class B, class Fn>
auto combine(const Known<A>& a, const Known<B>& b,
             Fn&& fn) -> KnownOf<std::invoke_result_t<Fn, const A&, const B&>> {
  if (!a) return Absent{a.reason()};
  if (!b) return Absent{b.reason()};
  return std::forward<Fn>(fn)(*a, *b);
}

}  // namespace nl
