#pragma once
// Splits the limits of a clock's offset into runs such that one straight line can meet all limits of a run.
// Where no line can, there are two possible causes. Either a few records are corrupt: then the limits after
// them agree with those before. Or the clock was set: then the limits after it contradict those before.

#include <cstdint>
#include <vector>

#include "assemble/clock_fit.h"
#include "assemble/offset_lines.h"

namespace nl::assemble {

/// Limits [begin, end) surely lie between two settings of the clock. What lies between two runs may belong to
/// either. A run may be empty: then its line is not known.
struct ClockRun {
  size_t begin = 0, end = 0;
};

class ClockSegmenter {
 public:
  /// `limits` in the order in which they came to be. A clock that is set back tells times twice, so that its
  /// own times are no order.
  ClockSegmenter(std::vector<OffsetLimit> limits, double max_drift);

  /// False if the limits contradict each other too often.
  bool split();
  /// Without those of corrupt records.
  const std::vector<OffsetLimit>& limits() const { return limits_; }
  const std::vector<ClockRun>& runs() const { return runs_; }
  const std::vector<uint32_t>& corrupt() const { return corrupt_; }
  /// Limits of corrupt records that are not far off.
  const std::vector<OffsetLimit>& dropped() const { return dropped_; }
  OffsetLines lines(size_t begin, size_t end) const;
  OffsetLines lines(const std::vector<size_t>& limits) const;

  /// Limits are turned into points relative to these.
  int64_t origin_ns() const { return origin_ns_; }
  int64_t base_ns() const { return base_ns_; }
  long double x(int64_t at_ns) const;

 private:
  struct Points {
    std::vector<LimitPoint> lowers, uppers;
  };
  void add(Points& points, size_t limit) const;
  OffsetLines lines(const Points& points) const { return {points.lowers, points.uppers, max_drift_}; }
  void drop_gross();
  void drop(uint32_t record);
  size_t reach_forward(size_t begin, size_t known) const;
  size_t reach_back(size_t begin, size_t end, size_t first) const;
  bool resolve(size_t begin, size_t conflict, bool& is_step);
  std::vector<uint32_t> suspects(size_t begin, size_t conflict) const;
  size_t contradictions(size_t begin, size_t conflict, uint32_t suspect, size_t& seen) const;
  void settle_runs();

  std::vector<OffsetLimit> limits_;
  long double max_drift_;
  int64_t origin_ns_ = 0, base_ns_ = 0;
  size_t most_corrupt_ = 0;
  std::vector<size_t> begins_ = {0};  // of runs, as they are found
  std::vector<ClockRun> runs_;
  std::vector<uint32_t> corrupt_;
  std::vector<OffsetLimit> dropped_;
};

}  // namespace nl::assemble
