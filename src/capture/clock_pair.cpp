#include "capture/clock_pair.h"

#include <limits>

namespace nl::capture {

int64_t clock_ns(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

ClockPair read_clock_pair() {
  constexpr int kReadings = 20;
  ClockPair best{0, 0, std::numeric_limits<int64_t>::max()};
  for (int i = 0; i < kReadings; i++) {
    const int64_t before = clock_ns(CLOCK_MONOTONIC);
    const int64_t unix_ns = clock_ns(CLOCK_REALTIME);
    const int64_t after = clock_ns(CLOCK_MONOTONIC);
    const int64_t bound = (after - before + 1) / 2;
    if (bound < best.bound_ns) best = {before + (after - before) / 2, unix_ns, bound};
  }
  return best;
}

nlohmann::json clock_pair_json(const ClockPair& pair) {
  return {{"monotonic_ns", pair.monotonic_ns}, {"unix_ns", pair.unix_ns}, {"bound_ns", pair.bound_ns}};
}

}  // namespace nl::capture
