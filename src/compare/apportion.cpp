#include "compare/apportion.h"

#include <algorithm>
#include <numeric>

namespace nl::compare {
namespace {

int64_t floor_division(int64_t value, int64_t units) {
  return value / units - (value % units < 0 ? 1 : 0);
}

}  // namespace

int64_t per_unit(int64_t value, int64_t units) {
  const int64_t low = floor_division(value, units), left = value - low * units;
  return low + (left >= units - left ? 1 : 0);
}

std::vector<int64_t> apportion(const std::vector<int64_t>& amounts, int64_t units, int64_t total) {
  std::vector<int64_t> shares, remainders;
  for (const int64_t amount : amounts) {
    shares.push_back(floor_division(amount, units));
    remainders.push_back(amount - shares.back() * units);
    total -= shares.back();
  }
  std::vector<size_t> order(amounts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return remainders[a] > remainders[b]; });
  for (size_t i = 0; total > 0 && i < order.size(); i++, total--) shares[order[i]]++;
  for (size_t i = order.size(); total < 0 && i > 0; i--, total++) shares[order[i - 1]]--;
  return shares;
}

}  // namespace nl::compare
