#include "lab/run/schedule.h"

#include <numeric>
#include <utility>

#include "stats/random.h"

namespace nl::lab {

std::vector<size_t> block_order(size_t sides, uint64_t seed, int64_t block) {
  std::vector<size_t> order(sides);
  std::iota(order.begin(), order.end(), size_t{0});
  constexpr uint64_t kFarApart = 0x9E3779B97F4A7C15;  // neighbouring seeds and blocks draw from other streams
  stats::Random random(seed * kFarApart + static_cast<uint64_t>(block));
  random.next();
  for (size_t i = sides; i > 1; i--) std::swap(order[i - 1], order[random.below(i)]);
  order.insert(order.end(), order.rbegin(), order.rend());
  return order;
}

}  // namespace nl::lab
