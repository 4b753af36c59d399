#include "timeline/lanes.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

namespace nl::timeline {
namespace {

inline bool is_before(const Span& a, const Span& b) {
  if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
  return std::tie(a.dur_ns, a.item) < std::tie(b.dur_ns, b.item);
}

/// Sources write one kind of span after another, each by time: a few sorted stretches are merged, and most of
/// them lie one behind the other already.
void sort_by_start(std::vector<Span>& spans) {
  std::vector<ptrdiff_t> ends = {0};  // of the stretches, by place
  for (auto from = spans.begin(); from != spans.end();) {
    from = std::is_sorted_until(from, spans.end(), is_before);
    ends.push_back(from - spans.begin());
  }
  while (ends.size() > 2) {
    std::vector<ptrdiff_t> merged = {0};
    for (size_t i = 1; i < ends.size(); i += 2) {
      const size_t last = std::min(i + 1, ends.size() - 1);
      const auto begin = spans.begin() + ends[i - 1], middle = spans.begin() + ends[i],
                 end = spans.begin() + ends[last];
      if (middle != end && is_before(*middle, *(middle - 1)))
        std::inplace_merge(begin, middle, end, is_before);
      merged.push_back(ends[last]);
    }
    ends = std::move(merged);
  }
}

bool overlap(const std::vector<Span>& spans) {
  for (size_t i = 1; i < spans.size(); i++) {
    if (spans[i].start_ns < spans[i - 1].reach_ns()) return true;
  }
  return false;
}

template <class T>
using Smallest = std::priority_queue<T, std::vector<T>, std::greater<>>;

}  // namespace

std::vector<std::vector<Span>> lanes_of(std::vector<Span> spans) {
  sort_by_start(spans);
  std::vector<std::vector<Span>> lanes;
  if (!overlap(spans)) {
    lanes.push_back(std::move(spans));
    return lanes;
  }
  Smallest<std::pair<int64_t, size_t>> busy;  // until when, and which lane
  Smallest<size_t> free;
  for (const Span& span : spans) {
    while (!busy.empty() && busy.top().first <= span.start_ns) {
      free.push(busy.top().second);
      busy.pop();
    }
    if (free.empty()) {
      free.push(lanes.size());
      lanes.emplace_back();
    }
    const size_t lane = free.top();
    free.pop();
    lanes[lane].push_back(span);
    busy.emplace(span.reach_ns(), lane);
  }
  return lanes;
}

}  // namespace nl::timeline
