#pragma once
// OffsetLines: all straight lines that the limits of a clock's offset allow. A limit says that the offset at
// one time is at least, or at most, a given value. The allowed lines y = a + b x lie between the upper hull
// of the lower limits and the lower hull of the upper limits, with |b| <= max_slope. They form a convex set,
// which is stored as slices of one slope each, so the cost of a query depends on the corners of the set and
// not on the number of limits. Plain data, no I/O.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nl::assemble {

/// Time and offset relative to an origin, in ns.
struct LimitPoint {
  long double x, y;
  size_t limit;  ///< whose it is
};

struct OffsetLine {
  long double at_zero = 0, slope = 0;
  long double at(long double x) const { return at_zero + slope * x; }
};

/// The upper convex hull of points, and where a line of a given slope touches it from above.
class SupportHull {
 public:
  SupportHull() = default;
  explicit SupportHull(std::vector<LimitPoint> points);

  bool empty() const { return points_.empty(); }
  const std::vector<LimitPoint>& points() const { return points_; }
  /// The point that the line touches.
  size_t touch(long double slope) const;
  /// y of the line at x = 0.
  long double height(long double slope) const;
  long double edge_slope(size_t i) const;

 private:
  std::vector<LimitPoint> points_;
};

class OffsetLines {
 public:
  OffsetLines(const std::vector<LimitPoint>& lowers, const std::vector<LimitPoint>& uppers,
              long double max_slope);

  bool empty() const { return slices_.empty(); }
  bool has_lower() const { return !lower_.empty(); }
  bool has_upper() const { return !upper_.empty(); }
  /// Of all lines the highest and lowest value at x; infinite where no limit is on that side.
  long double highest(long double x) const;
  long double lowest(long double x) const;
  long double least_slope() const { return slices_.front().slope; }
  long double most_slope() const { return slices_.back().slope; }

  /// The line of the set whose greatest distance to any other one over [x0, x1] is least. With limits on one
  /// side only: the line that is nearest to them in the middle.
  OffsetLine centre(long double x0, long double x1) const;

  /// Limits that no line can meet together; some of them may be innocent. Only of an empty set.
  std::vector<size_t> conflict() const;
  /// The limits that matter: the corners of both hulls.
  void hull_points(std::vector<LimitPoint>& lowers, std::vector<LimitPoint>& uppers) const;

 private:
  struct Slice {
    long double slope, low, high;  ///< y at x = 0
  };
  struct Reach;

  Slice slice(long double slope) const;
  std::vector<long double> corner_slopes() const;
  void keep_open_slices(const std::vector<Slice>& all);
  long double best_height(const Reach& reach, long double slope) const;
  OffsetLine nearest_to_limits(long double x) const;

  SupportHull lower_, upper_;  // upper limits mirrored at y = 0
  long double max_slope_;
  long double worst_slope_ = 0;  // of an empty set: where the gap is least
  std::vector<Slice> slices_;
};

}  // namespace nl::assemble
