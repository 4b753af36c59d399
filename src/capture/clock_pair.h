#pragma once
// The clocks of a machine, and two of them read together, so that times of the one become times of the other.

#include <time.h>

#include <cstdint>

#include "base/json.h"

namespace nl::capture {

int64_t clock_ns(clockid_t clock);

struct ClockPair {
  int64_t monotonic_ns = 0;
  int64_t unix_ns = 0;
  int64_t bound_ns = 0;  ///< unix_ns was read at most so long before or after monotonic_ns
};

/// The tightest of several readings.
ClockPair read_clock_pair();

nlohmann::json clock_pair_json(const ClockPair& pair);

}  // namespace nl::capture
