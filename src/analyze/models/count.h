#pragma once
// Count: a whole number that remembers whether a calculation overflowed. Used for products of shapes, which
// come from untrusted files.

#include <cstdint>
#include <span>

namespace nl::analyze {

struct Count {
  int64_t value = 0;
  bool fits = true;

  constexpr Count() = default;
  constexpr Count(int64_t number) : value(number) {}
};

inline Count operator*(Count a, Count b) {
  Count out;
  const bool over = __builtin_mul_overflow(a.value, b.value, &out.value);
  out.fits = a.fits && b.fits && !over;
  return out;
}

inline Count operator+(Count a, Count b) {
  Count out;
  const bool over = __builtin_add_overflow(a.value, b.value, &out.value);
  out.fits = a.fits && b.fits && !over;
  return out;
}

inline Count operator-(Count a, Count b) {
  Count out;
  const bool over = __builtin_sub_overflow(a.value, b.value, &out.value);
  out.fits = a.fits && b.fits && !over;
  return out;
}

inline Count product(std::span<const int64_t> numbers) {
  Count out = 1;
  for (const int64_t number : numbers) out = out * number;
  return out;
}

}  // namespace nl::analyze
