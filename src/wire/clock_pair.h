#pragma once
// Reads CLOCK_REALTIME and CLOCK_MONOTONIC at the same moment, with a bound on the error.

#include <time.h>

#include <cstdint>

namespace nl::wire {

inline int64_t clock_ns(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

struct ClockPair {
  int64_t monotonic_ns = 0;
  int64_t unix_ns = 0;
  int64_t bound_ns = 0;  ///< the pair is off by this at most
};

/// The tightest of several readings: the more time passes around a reading, the less it says.
inline ClockPair read_clock_pair() {
  ClockPair best;
  for (int i = 0; i < 16; i++) {
    const int64_t before = clock_ns(CLOCK_MONOTONIC);
    const int64_t unix_ns = clock_ns(CLOCK_REALTIME);
    const int64_t after = clock_ns(CLOCK_MONOTONIC);
    const int64_t bound = (after - before + 1) / 2;
    if (i == 0 || bound < best.bound_ns) best = {before + (after - before) / 2, unix_ns, bound};
  }
  return best;
}

}  // namespace nl::wire
