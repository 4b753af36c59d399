#pragma once
// Numbers with a known truth for the simulations, from the generator of the product.

#include <cmath>

#include "stats/random.h"

namespace nl::bench {

class Noise {
 public:
  explicit Noise(uint64_t seed) : random_(seed) {}

  double uniform(double low, double high) { return low + (high - low) * random_.uniform(); }
  size_t below(size_t end) { return random_.below(end); }
  bool happens(double chance) { return random_.uniform() < chance; }

  /// Standard normal, two at a time by the polar method.
  double normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    double x = 0, y = 0, s = 0;
    do {
      x = uniform(-1, 1);
      y = uniform(-1, 1);
      s = x * x + y * y;
    } while (s >= 1 || s == 0);
    const double factor = std::sqrt(-2 * std::log(s) / s);
    spare_ = y * factor;
    has_spare_ = true;
    return x * factor;
  }
  /// Student's t with 3 degrees, scaled to the spread 1: now and then far out.
  double heavy() {
    const double a = normal(), b = normal(), c = normal();
    return normal() / std::sqrt(a * a + b * b + c * c);
  }

 private:
  stats::Random random_;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace nl::bench
