#pragma once
// The top limiter: what takes most of the window, in one line.

#include <string>

#include "analyze/metric.h"

namespace nl::analyze {

struct Limiter {
  std::string what;  ///< compute, exposed_comm, exposed_copy, host, or the name of an idle cause
  int64_t time_ns = 0;
  double share = 0;   ///< of the window
  std::string words;  ///< for people: what it is
};

/// absent if the window is empty or nothing is known of it.
Known<Limiter> top_limiter(const MetricSet& metrics, bool is_host);

}  // namespace nl::analyze
