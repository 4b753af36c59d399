#pragma once
// Builds and reads the derived table clock_fits. Devices are fitted to their hosts by causality (a kernel
// starts after its launch), ranks to each other by collectives.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "assemble/clock_fit.h"
#include "assemble/collective_match.h"
#include "assemble/collector.h"
#include "base/result.h"
#include "store/run_views.h"

namespace nl::assemble {

/// A clock of run.json, with the rank whose times it tells; without one the number of the clock.
struct RankClock {
  int32_t clock = 0;
  int32_t rank = 0;
  bool is_unix = false;
  int64_t base_ns = 0;        ///< added to stored times before clocks are compared
  std::string identity = {};  ///< clocks with the same one are one clock; empty: not known
};

struct RankFit {
  int32_t clock = 0;
  int32_t reference = 0;
  std::string method = {};  ///< as the table says
  ClockFit fit = {};
};

/// Every clock but that of the lowest rank, which is the reference. Fits map stored times of a clock to
/// stored times plus base of the reference, less the base of the clock. A rank that shares no collective with
/// the reference is fitted to one that is fitted already; its bound then holds for both steps together.
std::vector<RankFit> fit_ranks(std::vector<RankClock> clocks, const std::vector<CollectiveCall>& calls);

/// Writes the table into a folder of derived tables that holds the links already. Devices are fitted by what
/// was collected, once its works have the starts of their launches. No rows: no file.
Result<void> write_clock_fits(const std::shared_ptr<store::Engine>& engine, const store::RunFiles& files,
                              const std::string& folder, const Collected& collected);

/// How stored times of the ranks become common ones, from the table and the bases of the clocks.
struct LoadedFits {
  std::map<int32_t, std::vector<ClockSegment>> clocks = {};
  std::map<int32_t, std::string> methods = {};
  std::vector<int64_t> bases = {};
  int32_t reference = 0;

  int64_t map(int32_t clock, int64_t time_ns) const;
  /// Nothing where a clock has no bound. The reference has 0.
  std::optional<int64_t> bound_at(int32_t clock, int64_t time_ns) const;
};
Result<LoadedFits> load_clock_fits(store::Connection& connection,
                                   const std::vector<store::ClockBase>& clocks);

/// Views of tracks, spans, kernels and kernel_links with times as they are stored.
Result<void> create_stored_views(store::Connection& connection, store::RunFiles files,
                                 const std::string& derived_folder);

}  // namespace nl::assemble
