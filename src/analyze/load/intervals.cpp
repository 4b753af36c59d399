#include "analyze/load/intervals.h"

#include <algorithm>

namespace nl::analyze {
namespace {

/// Adds an interval that begins no earlier than the last one of the set.
void append(IntervalSet& set, Interval next) {
  if (!set.empty() && next.begin <= set.back().end) {
    set.back().end = std::max(set.back().end, next.end);
  } else {
    set.push_back(next);
  }
}

/// A run of many ranks keeps some sets for each of them.
IntervalSet without_spare(IntervalSet set) {
  if (set.capacity() > set.size() + set.size() / 4) set.shrink_to_fit();
  return set;
}

/// `few` are looked up among many.
IntervalSet intersect_few(const IntervalSet& many, const IntervalSet& few) {
  IntervalSet set;
  for (const Interval& piece : few) {
    for (auto it = first_ending_after(many, piece.begin); it != many.end() && it->begin < piece.end; ++it)
      set.push_back({std::max(it->begin, piece.begin), std::min(it->end, piece.end)});
  }
  return set;
}

}  // namespace

IntervalSet union_of(PagedVector<Interval> intervals) {
  std::erase_if(intervals, [](const Interval& i) { return i.end <= i.begin; });
  const auto by_begin = [](const Interval& a, const Interval& b) { return a.begin < b.begin; };
  if (!std::is_sorted(intervals.begin(), intervals.end(), by_begin)) {
    std::sort(intervals.begin(), intervals.end(), by_begin);
  }
  // In its own place: many intervals often become few.
  size_t kept = 0;
  for (const Interval& next : intervals) {
    if (kept > 0 && next.begin <= intervals[kept - 1].end) {
      intervals[kept - 1].end = std::max(intervals[kept - 1].end, next.end);
    } else {
      intervals[kept++] = next;
    }
  }
  intervals.resize(kept);
  return without_spare(std::move(intervals));
}

IntervalSet unite(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet set;
  set.reserve(a.size() + b.size());
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    const bool from_a = j == b.size() || (i < a.size() && a[i].begin <= b[j].begin);
    append(set, from_a ? a[i++] : b[j++]);
  }
  return set;
}

IntervalSet intersect(const IntervalSet& a, const IntervalSet& b) {
  constexpr size_t kFew = 16;
  if (b.size() * kFew < a.size()) return intersect_few(a, b);
  if (a.size() * kFew < b.size()) return intersect_few(b, a);
  IntervalSet set;
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const int64_t begin = std::max(a[i].begin, b[j].begin);
    const int64_t end = std::min(a[i].end, b[j].end);
    if (begin < end) set.push_back({begin, end});
    (a[i].end < b[j].end ? i : j)++;
  }
  return set;
}

IntervalSet subtract(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet set;
  if (a.empty()) return set;
  auto j = static_cast<size_t>(first_ending_after(b, a.front().begin) - b.begin());
  for (Interval rest : a) {
    while (j < b.size() && b[j].end <= rest.begin) j++;
    for (size_t k = j; k < b.size() && b[k].begin < rest.end; k++) {
      if (rest.begin < b[k].begin) set.push_back({rest.begin, b[k].begin});
      rest.begin = b[k].end;
    }
    if (rest.begin < rest.end) set.push_back(rest);
  }
  return set;
}

int64_t total_length(const IntervalSet& set) {
  int64_t sum = 0;
  for (const Interval& i : set) sum += i.length();
  return sum;
}

int64_t length_inside(const IntervalSet& set, Interval piece) {
  int64_t sum = 0;
  for (auto it = first_ending_after(set, piece.begin); it != set.end() && it->begin < piece.end; ++it) {
    sum += std::min(it->end, piece.end) - std::max(it->begin, piece.begin);
  }
  return sum;
}

bool contains(const IntervalSet& set, int64_t time) {
  const auto it = first_ending_after(set, time);
  return it != set.end() && it->begin <= time;
}

}  // namespace nl::analyze
