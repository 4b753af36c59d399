#pragma once
// Finds how many iterations at the beginning of a run were slower than the rest. Pure function; any thread.

#include <cstddef>
#include <optional>
#include <vector>

namespace nl::stats {

struct WarmUp {
  size_t iterations = 0;  ///< 0: none
  double level = 0;       ///< median of the stretch that follows
};

/// Durations in the order of time. Slow segments at the front belong to it as long as each is slower than the
/// next, then single slow values at the front of what follows; never more than half of the series, so that a
/// change in the second half stays what it is. A faster beginning is no warm-up. Absent below 5 iterations.
std::optional<WarmUp> find_warm_up(const std::vector<double>& durations);

}  // namespace nl::stats
