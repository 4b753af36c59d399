#pragma once
// Sets of time intervals in integer nanoseconds. A set is sorted; its intervals are disjoint, not empty and
// do not touch each other. Every operation is at most linear in its inputs, and cutting a small piece out of
// a large set is cheap.

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/paged_vector.h"

namespace nl::analyze {

/// [begin, end)
struct Interval {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t length() const { return end - begin; }
  bool operator==(const Interval&) const = default;
};

using IntervalSet = PagedVector<Interval>;

/// Any intervals in any order; empty ones are dropped.
IntervalSet union_of(PagedVector<Interval> intervals);
IntervalSet unite(const IntervalSet& a, const IntervalSet& b);
IntervalSet intersect(const IntervalSet& a, const IntervalSet& b);
/// What is in a and not in b.
IntervalSet subtract(const IntervalSet& a, const IntervalSet& b);
int64_t total_length(const IntervalSet& set);
/// Length of the part of `piece` that lies in the set.
int64_t length_inside(const IntervalSet& set, Interval piece);
/// The first interval that ends behind `time`. Most windows are of one piece.
inline IntervalSet::const_iterator first_ending_after(const IntervalSet& set, int64_t time) {
  if (set.size() == 1) return set.begin() + (set.front().end > time ? 0 : 1);
  return std::upper_bound(set.begin(), set.end(), time,
                          [](int64_t t, const Interval& i) { return t < i.end; });
}
bool contains(const IntervalSet& set, int64_t time);

/// Nothing of nothing has no share.
inline std::optional<double> share_of(int64_t part, int64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace nl::analyze
