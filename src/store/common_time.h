#pragma once
// Common time: the SQL that converts a start time on a track's own clock to the common time axis of the run.
// The stored facts keep the clock of the source, so a better fit later does not rewrite anything.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/engine.h"

namespace nl::store {

/// A clock of run.json.
struct ClockBase {
  bool is_unix = false;
  int64_t base_ns = 0;
  int64_t resolution_ns = 1;
  std::string identity = {};  ///< clocks with the same one are one clock; empty: not known
};

/// What is added to stored times of a clock. Clocks without a known base begin with the first that has one.
int64_t base_of(const std::vector<ClockBase>& clocks, int32_t clock);

/// Where the tables lie that say which clock a track has and how clocks are fitted; empty: not there.
struct ClockFiles {
  std::string tracks;
  std::string fits;
};

/// An expression over start_ns and, if `has_track`, track_id.
class CommonTime {
 public:
  static Result<CommonTime> read(Connection& connection, const std::vector<ClockBase>& clocks,
                                 const ClockFiles& files);
  std::string start(bool has_track) const;

 private:
  int64_t base_ns_ = 0;        // of rows without a track
  std::string of_track_ = {};  // empty: the same for all tracks
};

}  // namespace nl::store
