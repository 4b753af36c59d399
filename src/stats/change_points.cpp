#include "stats/change_points.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <set>

#include "stats/distributions.h"
#include "stats/rank_test.h"
#include "stats/segments.h"

namespace nl::stats {
namespace {

constexpr size_t kLeast = 2;  // values of a segment
constexpr double kFindFactor = 10;

/// Splits of [from, to) in a window, by dividing it again and again.
void find_splits(Segment window, size_t from, size_t to, double p, std::vector<size_t>& splits) {
  const Segment part{window.begin + from, window.begin + to};
  const size_t at = from + best_split(part, kLeast);
  if (at == to || mean_test({part.begin, window.begin + at}, {window.begin + at, part.end}) >= p) return;
  find_splits(window, from, at, p, splits);
  splits.push_back(at);
  find_splits(window, at, to, p, splits);
}

/// A short segment without the value that is farthest from the other side: a change must not rest on one
/// value.
Segment without_farthest(std::vector<double>& values, Segment segment, double other_level) {
  constexpr size_t kShort = 8;
  if (segment.size() >= kShort || segment.size() < kLeast) return segment;
  const auto is_nearer = [&](double a, double b) {
    return std::abs(a - other_level) < std::abs(b - other_level);
  };
  double* begin = values.data() + (segment.begin - values.data());
  std::swap(*std::max_element(begin, begin + segment.size(), is_nearer), begin[segment.size() - 1]);
  return {begin, begin + segment.size() - 1};
}

/// Both sides of a split, up to a window of each.
struct Sides {
  Segment left, right;
  double p(double memory) const {
    std::vector<double> values = clipped({left.begin, right.end});
    const Segment a{values.data(), values.data() + left.size()}, b{a.end, a.end + right.size()};
    const double a_level = median_of(a), b_level = median_of(b);
    return mean_test(without_farthest(values, a, b_level), without_farthest(values, b, a_level), memory);
  }
};

Sides sides_of(const std::vector<double>& values, size_t from, size_t at, size_t to, size_t window) {
  const double* v = values.data();
  const size_t first = at - std::min(at, window), last = at + window;
  return {{v + std::max(from, first), v + at}, {v + at, v + std::min(to, last)}};
}

using MemoryNear = std::function<double(size_t)>;

/// Splits of all windows, of which the weakest is taken away until every one is strong enough between its
/// neighbours.
class Pruning {
 public:
  Pruning(const std::vector<double>& values, std::vector<size_t> splits, const ChangePointOptions& options,
          MemoryNear memory)
      : values_(values), options_(options), memory_(std::move(memory)), at_(std::move(splits)) {
    at_.insert(at_.begin(), 0);
    at_.push_back(values.size());
    for (size_t i = 0; i < at_.size(); i++) {
      previous_.push_back(i - 1);
      next_.push_back(i + 1);
    }
    weakness_.resize(at_.size());
    for (size_t i = 1; i + 1 < at_.size(); i++) weigh(i);
  }

  std::vector<size_t> kept() {
    while (!by_weakness_.empty() && by_weakness_.rbegin()->first >= 1) remove(by_weakness_.rbegin()->second);
    std::vector<size_t> splits;
    for (size_t i = next_[0]; i + 1 < at_.size(); i = next_[i]) splits.push_back(at_[i]);
    return splits;
  }

 private:
  Sides around(size_t i) const {
    return sides_of(values_, at_[previous_[i]], at_[i], at_[next_[i]], options_.window);
  }
  void weigh(size_t i) {
    weakness_[i] = around(i).p(memory_(at_[i])) / options_.p;
    if (options_.min_magnitude > 0) weakness_[i] = std::max(weakness_[i], smallness(i));
    by_weakness_.insert({weakness_[i], i});
  }
  double smallness(size_t i) const {
    const double old_level = median_of(around(i).left);
    const double change = std::abs(median_of(around(i).right) - old_level);
    return change == 0 ? 1 : options_.min_magnitude * std::abs(old_level) / change;
  }
  void remove(size_t i) {
    by_weakness_.erase({weakness_[i], i});
    const size_t left = previous_[i], right = next_[i];
    next_[left] = right;
    previous_[right] = left;
    for (const size_t neighbour : {left, right}) {
      if (neighbour == 0 || neighbour + 1 == at_.size()) continue;
      by_weakness_.erase({weakness_[neighbour], neighbour});
      weigh(neighbour);
    }
  }

  const std::vector<double>& values_;
  const ChangePointOptions& options_;
  MemoryNear memory_;
  std::vector<size_t> at_;
  std::vector<size_t> previous_, next_;
  std::vector<double> weakness_;
  std::set<std::pair<double, size_t>> by_weakness_;
};

/// The segments next to each split, for looking at it again.
class Located {
 public:
  Located(const std::vector<double>& values, std::vector<size_t> splits, const ChangePointOptions& options,
          MemoryNear memory)
      : values_(values), options_(options), memory_(std::move(memory)), at_(std::move(splits)) {
    for (size_t i = 0; i < at_.size(); i++) move_to_best(i);
  }

  std::vector<ChangePoint> points() const {
    std::vector<ChangePoint> points;
    for (size_t i = 0; i < at_.size(); i++) {
      const Sides sides = around(i);
      const bool lasts = end(i) - at_[i] >= options_.persistence;
      points.push_back(
          {at_[i], median_of(sides.left), median_of(sides.right), sides.p(memory_(at_[i])), lasts});
    }
    return points;
  }

 private:
  size_t end(size_t i) const { return i + 1 == at_.size() ? values_.size() : at_[i + 1]; }
  Sides around(size_t i) const {
    return sides_of(values_, i == 0 ? 0 : at_[i - 1], at_[i], end(i), options_.window);
  }
  /// A window cut near the split may have misplaced it.
  void move_to_best(size_t i) {
    const Sides sides = around(i);
    const std::vector<double> values = clipped({sides.left.begin, sides.right.end});
    const size_t best = best_split({values.data(), values.data() + values.size()}, kLeast);
    if (best < values.size()) at_[i] = at_[i] - sides.left.size() + best;
  }

  const std::vector<double>& values_;
  const ChangePointOptions& options_;
  MemoryNear memory_;
  std::vector<size_t> at_;
};

}  // namespace

ChangePointSeries::ChangePointSeries(const ChangePointOptions& options) : options_(options) {
  options_.window = std::max<size_t>(options_.window, 8);
}

void ChangePointSeries::evaluate(size_t window) {
  const size_t begin = window * step();
  const size_t end = std::min(begin + options_.window, values_.size());
  const Segment all{values_.data() + begin, values_.data() + end};
  const std::vector<double> moved = clipped(all);
  Window found{{}, mean_distance(all, 1), mean_distance(all, 2), static_cast<double>(all.size())};
  find_splits({moved.data(), moved.data() + moved.size()}, 0, moved.size(), kFindFactor * options_.p,
              found.splits);
  for (size_t& at : found.splits) at += begin;
  if (windows_.size() <= window) windows_.resize(window + 1);
  windows_[window] = std::move(found);
  evaluated_++;
}

void ChangePointSeries::append(double value) {
  values_.push_back(value);
  const size_t last = values_.size() - 1;
  for (size_t k = last < options_.window ? 0 : (last - options_.window) / step() + 1; k * step() <= last;
       k++) {
    evaluate(k);
  }
}

std::vector<size_t> ChangePointSeries::all_splits() const {
  std::vector<size_t> splits;
  for (const Window& window : windows_)
    splits.insert(splits.end(), window.splits.begin(), window.splits.end());
  std::sort(splits.begin(), splits.end());
  splits.erase(std::unique(splits.begin(), splits.end()), splits.end());
  return splits;
}

/// With memory, values two apart differ more than neighbours do: by the square root of 1 + correlation.
/// Changes of level are too rare among the distances to count.
double ChangePointSeries::memory_near(size_t at) const {
  constexpr double kUnsure = 0.5;  // of few values, one deviation is given to chance
  constexpr size_t kWindows = 8;   // on each side; half of each belongs to the next, too
  const size_t here = at / step();
  double one = 0, two = 0, values = 0;
  for (size_t k = here - std::min(here, kWindows); k < std::min(here + kWindows, windows_.size()); k++) {
    one += windows_[k].neighbours * windows_[k].size;
    two += windows_[k].two_apart * windows_[k].size;
    values += windows_[k].size / 2;
  }
  if (one <= 0) return 0;
  return std::clamp(two * two / (one * one) - 1 - kUnsure / std::sqrt(values), 0.0, 0.8);
}

/// Student's test needs more than a few runs for p < 0.001. Few values that do not overlap at all are a
/// change by their ranks: of 5 and 5 that happens by chance in 2 of 252 orders. Looked for between the
/// changes that are found already, so a long series has no more chances than a short one.
void ChangePointSeries::add_separated(std::vector<ChangePoint>& points) const {
  std::vector<ChangePoint> found;
  for (size_t i = 0; i <= points.size(); i++) {
    const size_t from = i == 0 ? 0 : points[i - 1].at;
    const size_t to = i == points.size() ? values_.size() : points[i].at;
    const Segment part{values_.data() + from, values_.data() + to};
    const size_t at = separated_split(part, kSeparatedValues);
    if (at == part.size()) continue;
    const Segment left{part.begin, part.begin + at}, right{part.begin + at, part.end};
    const double before = median_of(left), after = median_of(right);
    if (std::abs(after - before) < options_.min_magnitude * std::abs(before)) continue;
    found.push_back({from + at, before, after, smallest_p(left.size(), right.size()),
                     right.size() >= options_.persistence});
  }
  points.insert(points.end(), found.begin(), found.end());
  std::sort(points.begin(), points.end(),
            [](const ChangePoint& a, const ChangePoint& b) { return a.at < b.at; });
}

/// One value behind a change is no segment yet, and no alert.
void ChangePointSeries::add_last_value(std::vector<ChangePoint>& points) const {
  constexpr size_t kEnough = 8;
  const size_t from = points.empty() ? 0 : points.back().at;
  const size_t n = values_.size();
  if (n < from + kEnough) return;
  const Sides sides = sides_of(values_, from, n - 1, n, options_.window);
  const double p = mean_test(sides.left, sides.right);
  const double before = median_of(sides.left), after = values_.back();
  const bool is_small = std::abs(after - before) < options_.min_magnitude * std::abs(before);
  if (p < options_.p && !is_small) points.push_back({n - 1, before, after, p, false});
}

std::vector<ChangePoint> ChangePointSeries::points() const {
  const MemoryNear memory = [this](size_t at) { return memory_near(at); };
  const std::vector<size_t> kept = Pruning(values_, all_splits(), options_, memory).kept();
  std::vector<ChangePoint> points = Located(values_, kept, options_, memory).points();
  if (options_.separated) add_separated(points);
  add_last_value(points);
  return points;
}

std::vector<ChangePoint> find_change_points(const std::vector<double>& values,
                                            const ChangePointOptions& options) {
  ChangePointSeries series(options);
  series.values_ = values;
  for (size_t k = 0; k * series.step() < values.size(); k++) series.evaluate(k);
  return series.points();
}

double spread_of(const std::vector<double>& values) {
  const double root_of_pi = std::sqrt(std::numbers::pi);
  return mean_distance({values.data(), values.data() + values.size()}, 1) * root_of_pi / 2;
}

double least_visible_change(const std::vector<double>& values, const ChangePointOptions& options) {
  const auto n = static_cast<double>(values.size());
  const double error_of_difference = spread_of(values) * 2 / std::sqrt(n);
  double low = 0, high = 1e3;  // in errors of the difference of both means
  for (int i = 0; i < 60; i++) {
    const double middle = (low + high) / 2;
    (student_two_sided(middle, n - 2) < options.p ? high : low) = middle;
  }
  return high * error_of_difference;
}

}  // namespace nl::stats
