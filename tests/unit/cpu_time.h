/// CPU time of a piece of work, for tests of how work grows: ratios hold on any machine and under any
/// sanitizer.
#pragma once

#include <cstddef>
#include <ctime>

namespace nl {

template <class Work>
double cpu_ms(Work&& work) {
  const std::clock_t start = std::clock();
  work();
  return 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

/// How many times more CPU time `work(4 * size)` takes than `work(size)`: about 4 if linear, 16 if quadratic.
template <class Work>
double growth_of_fourfold(size_t size, Work&& work) {
  work(size);  // first use of memory and tables
  const double small = cpu_ms([&] { work(size); });
  return cpu_ms([&] { work(4 * size); }) / (small + 1);  // one ms of slack
}

constexpr double kLinearGrowth = 9;

}  // namespace nl
