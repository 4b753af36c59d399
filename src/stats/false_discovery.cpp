#include "stats/false_discovery.h"

#include <algorithm>
#include <numeric>

namespace nl::stats {

std::vector<double> benjamini_hochberg(const std::vector<double>& p) {
  std::vector<size_t> by_p(p.size());
  std::iota(by_p.begin(), by_p.end(), size_t{0});
  std::stable_sort(by_p.begin(), by_p.end(), [&](size_t a, size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double smallest = 1;
  for (size_t rank = p.size(); rank > 0; rank--) {
    const size_t test = by_p[rank - 1];
    smallest = std::min(smallest, p[test] * static_cast<double>(p.size()) / static_cast<double>(rank));
    adjusted[test] = smallest;
  }
  return adjusted;
}

}  // namespace nl::stats
