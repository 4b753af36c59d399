#pragma once
// The collectives of a run: how much they move, how long the transfer takes, and which ranks wait for which.
// Times of one rank are compared with times of another only if the clocks of both are known well enough.

#include <optional>
#include <string>
#include <vector>

#include "analyze/answer/collectives.h"
#include "analyze/load/intervals.h"
#include "analyze/load/timeline.h"
#include "assemble/clock_table.h"
#include "assemble/collective_match.h"
#include "store/run_views.h"

namespace nl::store {
class OpenRun;
}

namespace nl::analyze {

/// One collective over its ranks: the quickest call shows what the transfer takes, longer ones waited.
struct CollectiveTimes {
  int64_t transfer_ns = 0;
  PagedVector<int64_t> waits_ns = {};  ///< in the order of its calls
  size_t last = 0;                     ///< call that waited least
};
CollectiveTimes times_without_clocks(const std::vector<assemble::CollectiveCall>& calls,
                                     const assemble::CollectiveInstance& instance);

/// From the last start to the last end; nothing if the clocks of its ranks are not known. The bound is that
/// of a difference of two ranks' times.
struct ClockedTimes {
  CollectiveTimes times;
  int64_t bound_ns = 0;
};
std::optional<ClockedTimes> times_with_clocks(const std::vector<assemble::CollectiveCall>& calls,
                                              const assemble::CollectiveInstance& instance,
                                              const assemble::LoadedFits& fits);

/// Bus bandwidth over the rate of the algorithm, as nccl-tests define it; nothing for kinds without one.
std::optional<double> bus_factor(assemble::CollectiveKind kind, int64_t ranks);

/// `window_ns`: length of the window that the calls are from.
CollectivesAnswer collectives_of(const std::vector<assemble::CollectiveCall>& calls,
                                 const assemble::LoadedFits& fits, int64_t window_ns);

/// The calls that begin in the window.
std::vector<assemble::CollectiveCall> calls_inside(std::vector<assemble::CollectiveCall> calls,
                                                   const assemble::LoadedFits& fits,
                                                   const IntervalSet& window);

/// Of a run, in a window of common time.
Result<CollectivesAnswer> run_collectives(store::OpenRun& run, const Timeline& timeline,
                                          const IntervalSet& window);

}  // namespace nl::analyze
