/// CPU time of a piece of work, for tests of how work grows: ratios hold on any machine and under any
/// sanitizer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <limits>

namespace nl {

constexpr double kLinearGrowth = 4;

template <class Work>
double cpu_ms(Work&& work) {
  const std::clock_t start = std::clock();
  work();
  return 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

/// How many times more CPU time one `work(16 * size)` takes than sixteen `work(size)`: about 1 if linear, 16
/// if quadratic. Both sides are of one length, and a disturbed round is taken again, so that a busy machine
/// decides nothing.
template <class Work>
double growth_of_sixteenfold(size_t size, Work&& work) {
  work(size);  // first use of memory and tables
  double small = std::numeric_limits<double>::max(), large = small, growth = small;
  for (int round = 0; round < 5 && growth > kLinearGrowth; round++) {
    small = std::min(small, cpu_ms([&] {
                       for (int i = 0; i < 16; i++) work(size);
                     }));
    large = std::min(large, cpu_ms([&] { work(16 * size); }));
    growth = large / small;
  }
  return growth;
}

}  // namespace nl
