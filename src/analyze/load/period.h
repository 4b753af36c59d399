#pragma once
// Finds the period of a sequence of kernels: after how many of them the same kernels come again.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace nl::analyze {

/// The shortest period of a sequence of at least 30 after which at least 9 of 10 elements repeat; none if
/// there is no such.
struct Period {
  size_t length;
  double confidence;  ///< share of the elements that repeat
};
std::optional<Period> find_period(const PagedVector<uint32_t>& sequence);

/// A stretch of a sequence that repeats with one period: the whole of it, or the longest of its halves and
/// quarters that does, as far as it goes on. Warm-up in front and other work behind are outside.
struct Repeats {
  size_t begin, end;  ///< places in the sequence
  size_t period;
  double confidence;
};
std::optional<Repeats> find_repeats(const PagedVector<uint32_t>& sequence);

}  // namespace nl::analyze
