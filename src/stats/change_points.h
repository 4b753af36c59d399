#pragma once
// Finds where the level of a series changes. Method: E-divisive over windows, where each split is tested with
// Student's t instead of permutations (so that equal input gives equal output), followed by a strict pruning
// of all splits found. On demand, 5 values or more that all lie beyond 5 or more before them are a change,
// too. Appending a value only evaluates the windows that contain it. Details and limits:
// docs/analysis/statistics.md.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nl::stats {

struct ChangePointOptions {
  size_t window = 50;        ///< values looked at together; at least 8
  double p = 0.001;          ///< a split is kept below it; found below ten times it
  double min_magnitude = 0;  ///< of |after / before - 1| of the medians
  size_t persistence = 2;    ///< values behind a change before it is worth an alert
  /// Also list changes that a few values show which do not overlap. For runs; steps of one run are too much
  /// alike for that.
  bool separated = false;
};

/// Values on each side of a change that values which do not overlap show by themselves: by chance that
/// happens at most in one series of a hundred.
inline constexpr size_t kSeparatedValues = 5;

struct ChangePoint {
  size_t at = 0;      ///< the first value of the new level
  double before = 0;  ///< medians of the segments on both sides, up to a window each
  double after = 0;
  double p = 1;
  bool alert = false;  ///< it has lasted
  bool operator==(const ChangePoint&) const = default;
};

/// A series that grows at its end. Owned by one thread.
class ChangePointSeries {
 public:
  explicit ChangePointSeries(const ChangePointOptions& options = {});
  void append(double value);
  const std::vector<double>& values() const { return values_; }
  /// In order of place; the same as of a new series with these values. The last may be a single value without
  /// an alert.
  std::vector<ChangePoint> points() const;
  /// Windows searched for splits so far.
  uint64_t evaluated_windows() const { return evaluated_; }

 private:
  friend std::vector<ChangePoint> find_change_points(const std::vector<double>& values,
                                                     const ChangePointOptions& options);
  /// What is kept of a stretch of values once it has been searched.
  struct Window {
    std::vector<size_t> splits;
    double neighbours = 0;  ///< mean distance of values next to each other
    double two_apart = 0;
    double size = 0;
  };
  size_t step() const { return options_.window / 2; }
  void evaluate(size_t window);
  std::vector<size_t> all_splits() const;
  /// Correlation of neighbours near a place, from 0 to 0.8.
  double memory_near(size_t at) const;
  void add_separated(std::vector<ChangePoint>& points) const;
  void add_last_value(std::vector<ChangePoint>& points) const;

  ChangePointOptions options_;
  std::vector<double> values_;
  std::vector<Window> windows_;  ///< the k-th begins at k * step()
  uint64_t evaluated_ = 0;
};

std::vector<ChangePoint> find_change_points(const std::vector<double>& values,
                                            const ChangePointOptions& options = {});

/// How much values next to each other differ, as a deviation; a change of level hardly touches it.
double spread_of(const std::vector<double>& values);
/// The smallest lasting change in the middle of these values that the test would just see, as far as their
/// spread is all that counts. Wants 4 values or more.
double least_visible_change(const std::vector<double>& values, const ChangePointOptions& options = {});

}  // namespace nl::stats
