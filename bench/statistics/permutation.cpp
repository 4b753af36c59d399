#include "permutation.h"

#include <algorithm>
#include <cstddef>

namespace nl::bench {
namespace {

constexpr size_t kLeast = 2;

struct Split {
  size_t at;
  double energy;
};

/// Over all splits, from the definition by running sums.
Split best_of(const std::vector<double>& v) {
  const size_t n = v.size();
  double left = 0, right = 0, between = 0;
  for (size_t i = 0; i < n; i++) {
    for (size_t j = i + 1; j < n; j++) right += std::abs(v[i] - v[j]);
  }
  Split best{n, -1};
  for (size_t at = 1; at + kLeast <= n; at++) {
    double to_left = 0, to_right = 0;
    for (size_t i = 0; i + 1 < at; i++) to_left += std::abs(v[i] - v[at - 1]);
    for (size_t j = at; j < n; j++) to_right += std::abs(v[j] - v[at - 1]);
    left += to_left;
    right -= to_right;
    between += to_right - to_left;
    if (at < kLeast) continue;
    const auto a = static_cast<double>(at), b = static_cast<double>(n - at);
    const double energy =
        a * b / (a + b) * (2 * between / (a * b) - 2 * left / (a * (a - 1)) - 2 * right / (b * (b - 1)));
    if (energy > best.energy) best = {at, energy};
  }
  return best;
}

void divide(std::vector<double> part, size_t offset, Noise& noise, int permutations, double p,
            std::vector<size_t>& found) {
  if (part.size() < 2 * kLeast) return;
  const Split split = best_of(part);
  std::vector<double> shuffled = part;
  int as_large = 1;
  for (int i = 0; i < permutations; i++) {
    for (size_t k = shuffled.size() - 1; k > 0; k--) std::swap(shuffled[k], shuffled[noise.below(k + 1)]);
    as_large += best_of(shuffled).energy >= split.energy;
  }
  if (as_large > p * (permutations + 1)) return;
  const auto middle = part.begin() + static_cast<ptrdiff_t>(split.at);
  found.push_back(offset + split.at);
  divide({part.begin(), middle}, offset, noise, permutations, p, found);
  divide({middle, part.end()}, offset + split.at, noise, permutations, p, found);
}

}  // namespace

std::vector<size_t> divide_by_permutations(const std::vector<double>& values, Noise& noise, int permutations,
                                           double p) {
  std::vector<size_t> found;
  divide(values, 0, noise, permutations, p, found);
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace nl::bench
