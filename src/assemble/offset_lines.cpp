#include "assemble/offset_lines.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nl::assemble {
namespace {

constexpr long double kInfinite = std::numeric_limits<long double>::infinity();
constexpr long double kTolerance = 1e-3L;  // ns: what arithmetic may lose

bool turns_left(const LimitPoint& a, const LimitPoint& b, const LimitPoint& c) {
  return (b.x - a.x) * (c.y - a.y) >= (b.y - a.y) * (c.x - a.x);
}

}  // namespace

SupportHull::SupportHull(std::vector<LimitPoint> points) {
  const auto before = [](const LimitPoint& a, const LimitPoint& b) {
    return a.x != b.x ? a.x < b.x : a.y > b.y;
  };
  if (!std::is_sorted(points.begin(), points.end(), before))
    std::stable_sort(points.begin(), points.end(), before);
  for (const LimitPoint& point : points) {
    if (!points_.empty() && points_.back().x == point.x) continue;  // the highest came first
    while (points_.size() >= 2 && turns_left(points_[points_.size() - 2], points_.back(), point))
      points_.pop_back();
    points_.push_back(point);
  }
}

long double SupportHull::edge_slope(size_t i) const {
  return (points_[i + 1].y - points_[i].y) / (points_[i + 1].x - points_[i].x);
}

/// Slopes fall from left to right.
size_t SupportHull::touch(long double slope) const {
  size_t low = 0, high = points_.size() - 1;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (edge_slope(middle) > slope) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

long double SupportHull::height(long double slope) const {
  if (points_.empty()) return -kInfinite;
  const LimitPoint& point = points_[touch(slope)];
  return point.y - slope * point.x;
}

namespace {

SupportHull mirrored(std::vector<LimitPoint> points) {
  for (LimitPoint& point : points) point.y = -point.y;
  return SupportHull(std::move(points));
}

}  // namespace

OffsetLines::OffsetLines(const std::vector<LimitPoint>& lowers, const std::vector<LimitPoint>& uppers,
                         long double max_slope)
    : lower_(lowers), upper_(mirrored(uppers)), max_slope_(max_slope) {
  std::vector<Slice> all;
  for (const long double slope : corner_slopes()) all.push_back(slice(slope));
  keep_open_slices(all);
}

OffsetLines::Slice OffsetLines::slice(long double slope) const {
  return {slope, lower_.height(slope), -upper_.height(-slope)};
}

/// Between these the height of a slice changes evenly.
std::vector<long double> OffsetLines::corner_slopes() const {
  std::vector<long double> slopes = {-max_slope_, 0, max_slope_};
  for (size_t i = 0; i + 1 < lower_.points().size(); i++) slopes.push_back(lower_.edge_slope(i));
  for (size_t i = 0; i + 1 < upper_.points().size(); i++) slopes.push_back(-upper_.edge_slope(i));
  std::erase_if(slopes, [&](long double slope) { return std::fabs(slope) > max_slope_; });
  std::sort(slopes.begin(), slopes.end());
  slopes.erase(std::unique(slopes.begin(), slopes.end()), slopes.end());
  return slopes;
}

/// The height is a concave function of the slope: the open slices are neighbours. Where it passes through
/// zero between two slices there is one more.
void OffsetLines::keep_open_slices(const std::vector<Slice>& all) {
  const auto height = [](const Slice& s) { return s.high - s.low + kTolerance; };
  long double best = -kInfinite;
  for (size_t i = 0; i < all.size(); i++) {
    const long double here = height(all[i]);
    if (here > best) {
      best = here;
      worst_slope_ = all[i].slope;
    }
    if (i > 0) {
      const long double before = height(all[i - 1]);
      if ((before < 0) != (here < 0)) {
        const long double share = before / (before - here);
        slices_.push_back(slice(all[i - 1].slope + share * (all[i].slope - all[i - 1].slope)));
      }
    }
    if (here >= 0) slices_.push_back(all[i]);
  }
  if (best < 0) slices_.clear();
}

long double OffsetLines::highest(long double x) const {
  long double most = -kInfinite;
  for (const Slice& s : slices_) most = std::max(most, s.high + s.slope * x);
  return most;
}

long double OffsetLines::lowest(long double x) const {
  long double least = kInfinite;
  for (const Slice& s : slices_) least = std::min(least, s.low + s.slope * x);
  return least;
}

/// What the set spans at both ends: middle and half width.
struct OffsetLines::Reach {
  long double x[2], middle[2], half[2];
};

/// Of the lines with one slope the one whose farther end is nearest to the middles, by height at x = 0.
long double OffsetLines::best_height(const Reach& reach, long double slope) const {
  const Slice here = slice(slope);
  const long double u = reach.middle[0] - slope * reach.x[0], v = reach.middle[1] - slope * reach.x[1];
  const long double lead = reach.half[0] - reach.half[1];
  long double height = 0;
  if (std::fabs(u - v) <= std::fabs(lead)) {
    height = lead > 0 ? u : v;
  } else {
    height = (u + v) / 2 + (u > v ? lead : -lead) / 2;
  }
  if (here.low > here.high) return (here.low + here.high) / 2;
  return std::clamp(height, here.low, here.high);
}

OffsetLine OffsetLines::nearest_to_limits(long double x) const {
  const bool lower = has_lower();
  OffsetLine best;
  long double least = kInfinite;
  for (const Slice& s : slices_) {
    const long double height = lower ? s.low : s.high;
    const long double value = (lower ? 1 : -1) * (height + s.slope * x);
    if (value < least) best = {height, s.slope};
    least = std::min(least, value);
  }
  return has_lower() || has_upper() ? best : OffsetLine{};
}

/// The distance is a convex function of the slope once the best height is taken for each.
OffsetLine OffsetLines::centre(long double x0, long double x1) const {
  if (!has_lower() || !has_upper()) return nearest_to_limits((x0 + x1) / 2);
  Reach reach{};
  for (const int end : {0, 1}) {
    const long double x = end == 0 ? x0 : x1;
    const long double high = highest(x), low = lowest(x);
    reach.x[end] = x;
    reach.middle[end] = (high + low) / 2;
    reach.half[end] = (high - low) / 2;
  }
  const auto distance = [&](long double slope) {
    const OffsetLine line{best_height(reach, slope), slope};
    return std::max(std::fabs(line.at(x0) - reach.middle[0]) + reach.half[0],
                    std::fabs(line.at(x1) - reach.middle[1]) + reach.half[1]);
  };
  long double low = least_slope(), high = most_slope();
  for (int i = 0; i < 100; i++) {
    const long double a = low + (high - low) / 3, b = high - (high - low) / 3;
    if (distance(a) <= distance(b)) {
      high = b;
    } else {
      low = a;
    }
  }
  const long double slope = (low + high) / 2;
  return {best_height(reach, slope), slope};
}

namespace {

void add_touched(const SupportHull& hull, long double slope, std::vector<size_t>& limits) {
  if (hull.empty()) return;
  const size_t at = hull.touch(slope);
  const size_t first = at == 0 ? 0 : at - 1, last = std::min(at + 1, hull.points().size() - 1);
  for (size_t i = first; i <= last; i++) limits.push_back(hull.points()[i].limit);
}

}  // namespace

std::vector<size_t> OffsetLines::conflict() const {
  std::vector<size_t> limits;
  add_touched(lower_, worst_slope_, limits);
  add_touched(upper_, -worst_slope_, limits);
  return limits;
}

void OffsetLines::hull_points(std::vector<LimitPoint>& lowers, std::vector<LimitPoint>& uppers) const {
  lowers = lower_.points();
  uppers = upper_.points();
  for (LimitPoint& point : uppers) point.y = -point.y;
}

}  // namespace nl::assemble
