#include "analyze/time/strip.h"

#include <algorithm>

namespace nl::analyze {

constexpr int64_t kMostStretches = 240;

std::vector<StripColumn> strip_of(const Device& device, const IntervalSet& window) {
  std::vector<StripColumn> strip;
  if (window.empty()) return strip;
  const int64_t begin = window.front().begin, length = window.back().end - begin;
  const int64_t stretches = std::min(kMostStretches, length);
  const auto edge = [&](int64_t i) {
    return begin + length / stretches * i + length % stretches * i / stretches;
  };
  for (int64_t i = 0; i < stretches; i++) {
    const Decomposition sum = decompose(device, intersect(window, {{edge(i), edge(i + 1)}}));
    strip.push_back({sum.compute_ns, sum.exposed_comm_ns, sum.exposed_copy_ns, sum.idle_ns});
  }
  return strip;
}

}  // namespace nl::analyze
