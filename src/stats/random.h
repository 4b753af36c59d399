#pragma once
// A random generator (splitmix64) that gives the same numbers with every library and on every machine. For
// resampling with a fixed seed, not for secrets.

#include <cstdint>

namespace nl::stats {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  /// In [0, 1), a multiple of 2^-53.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// In [0, end); end is far below 2^53.
  uint64_t below(uint64_t end) { return static_cast<uint64_t>(uniform() * static_cast<double>(end)); }

 private:
  uint64_t state_;
};

}  // namespace nl::stats
