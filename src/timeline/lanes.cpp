#include "timeline/lanes.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

namespace nl::timeline {
namespace {

bool is_before(const Span& a, const Span& b) {
  return std::tie(a.start_ns, a.dur_ns, a.item) < std::tie(b.start_ns, b.dur_ns, b.item);
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
  if (!std::is_sorted(spans.begin(), spans.end(), is_before))
    std::sort(spans.begin(), spans.end(), is_before);
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
