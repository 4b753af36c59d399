#pragma once
// Limiters: the list of what takes the time of the window, largest first, one line each. Together they add up
// to the window.

#include <string>
#include <vector>

#include "analyze/metrics/metric.h"

namespace nl::analyze {

struct Limiter {
  std::string what;  ///< compute, exposed_comm, exposed_copy, host, or the name of an idle cause
  int64_t time_ns = 0;
  double share = 0;   ///< of the window
  std::string words;  ///< for people: what it is
};

/// By time; those without any are left out. Empty if the window is.
std::vector<Limiter> limiters(const MetricSet& metrics, bool is_host);

}  // namespace nl::analyze
