#pragma once
// Common time: converts a start time on a track's own clock to the common time axis of the run, in SQL or in
// memory. The stored facts keep the clock of the source, so a better fit later does not rewrite anything.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

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

class CommonTime {
 public:
  static Result<CommonTime> read(const std::vector<ClockBase>& clocks, const ClockFiles& files);
  /// An expression over start_ns and, if `has_track`, track_id.
  std::string start(bool has_track) const;
  /// The same for columns in memory. bad_input if a time does not fit.
  Result<void> move(std::vector<int64_t>& starts, const std::vector<int64_t>& tracks) const;

  /// One line of a fit: from `from_ns` on, common = start + offset + drift * (start - origin).
  struct Segment {
    int64_t from_ns = INT64_MIN;
    int64_t offset_ns = 0;
    double drift = 0;
    int64_t origin_ns = 0;
  };

 private:
  int64_t base_ns_ = 0;                         ///< of rows without a track
  std::vector<std::vector<Segment>> of_track_;  ///< empty: the same for all tracks
};

}  // namespace nl::store
