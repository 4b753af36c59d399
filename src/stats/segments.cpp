#include "stats/segments.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stats/distributions.h"
#include "stats/sample.h"

namespace nl::stats {
namespace {

double distance_sum(const double* begin, const double* end, double value) {
  double sum = 0;
  for (const double* v = begin; v < end; v++) sum += std::abs(*v - value);
  return sum;
}

/// Sums of distances inside and between the two sides of a split that moves to the right.
class EnergyScan {
 public:
  explicit EnergyScan(Segment all) : all_(all) {
    for (const double* v = all.begin; v < all.end; v++) right_ += distance_sum(v + 1, all.end, *v);
  }
  void move_right() {
    const double* value = all_.begin + left_size_++;
    const double to_left = distance_sum(all_.begin, value, *value);
    const double to_right = distance_sum(value + 1, all_.end, *value);
    left_ += to_left;
    right_ -= to_right;
    between_ += to_right - to_left;
  }
  /// mn / (m + n) * (2 / mn * between - mean distance inside left - inside right)
  double energy() const {
    const auto m = static_cast<double>(left_size_), n = static_cast<double>(all_.size() - left_size_);
    const double inside = 2 * left_ / (m * (m - 1)) + 2 * right_ / (n * (n - 1));
    return m * n / (m + n) * (2 * between_ / (m * n) - inside);
  }

 private:
  Segment all_;
  size_t left_size_ = 0;
  double left_ = 0, right_ = 0, between_ = 0;
};

double mean_of(Segment s) {
  double sum = 0;
  for (const double* v = s.begin; v < s.end; v++) sum += *v;
  return sum / static_cast<double>(s.size());
}

double squares_of(Segment s, double mean) {
  double sum = 0;
  for (const double* v = s.begin; v < s.end; v++) sum += (*v - mean) * (*v - mean);
  return sum;
}

}  // namespace

double median_of(Segment s) {
  return median(sorted(std::vector<double>(s.begin, s.end)));
}

size_t best_split(Segment segment, size_t least) {
  const size_t n = segment.size();
  size_t best = n;
  double most = -std::numeric_limits<double>::infinity();
  EnergyScan scan(segment);
  for (size_t at = 1; at + least <= n; at++) {
    scan.move_right();
    if (at < least || scan.energy() <= most) continue;
    most = scan.energy();
    best = at;
  }
  return best;
}

size_t separated_split(Segment segment, size_t least) {
  const size_t n = segment.size();
  if (n < 2 * least) return n;
  std::vector<double> least_behind(n), most_behind(n);  // from a place to the end
  for (size_t i = n; i-- > 0;) {
    const double value = segment.begin[i];
    least_behind[i] = i + 1 == n ? value : std::min(value, least_behind[i + 1]);
    most_behind[i] = i + 1 == n ? value : std::max(value, most_behind[i + 1]);
  }
  double least_before = segment.begin[0], most_before = segment.begin[0], widest = 0;
  size_t best = n;
  for (size_t at = 1; at + least <= n; at++) {
    const double gap = std::max(least_behind[at] - most_before, least_before - most_behind[at]);
    if (at >= least && gap > widest) {
      widest = gap;
      best = at;
    }
    least_before = std::min(least_before, segment.begin[at]);
    most_before = std::max(most_before, segment.begin[at]);
  }
  return best;
}

namespace {

/// By how much the variance of a mean of n values exceeds variance / n.
double inflation(size_t n, double memory) {
  double sum = 1, power = memory;
  for (size_t k = 1; k < n && power > 1e-6; k++, power *= memory) {
    sum += 2 * (1 - static_cast<double>(k) / static_cast<double>(n)) * power;
  }
  return sum;
}

}  // namespace

double mean_test(Segment left, Segment right, double memory) {
  if (left.size() == 0 || right.size() == 0 || left.size() + right.size() < 3) return 1;
  const double a = mean_of(left), b = mean_of(right);
  if (a == b) return 1;
  const auto m = static_cast<double>(left.size()), n = static_cast<double>(right.size());
  const double more_m = inflation(left.size(), memory), more_n = inflation(right.size(), memory);
  const double variance = (squares_of(left, a) + squares_of(right, b)) / (m - more_m + n - more_n);
  if (variance <= 0) return 0;
  const double t = (b - a) / std::sqrt(variance * (more_m / m + more_n / n));
  return student_two_sided(t, std::max(1.0, m / more_m + n / more_n - 2));
}

std::vector<double> clipped(Segment segment) {
  constexpr double kDeviations = 5 * 1.4826;  // of a normal distribution, from the median distance
  std::vector<double> values(segment.begin, segment.end);
  const double middle = median(sorted(values));
  std::vector<double> distances;
  for (const double v : values) distances.push_back(std::abs(v - middle));
  const double far = kDeviations * median(sorted(std::move(distances)));
  if (far <= 0) return values;
  for (double& v : values) v = std::clamp(v, middle - far, middle + far);
  return values;
}

double mean_distance(Segment s, size_t apart) {
  std::vector<double> distances;
  for (const double* v = s.begin; v + apart < s.end; v++) distances.push_back(std::abs(v[apart] - *v));
  if (distances.empty()) return 0;
  const double most = 3 * median(sorted(distances));
  double sum = 0;
  for (const double d : distances) sum += std::min(d, most);
  return sum / static_cast<double>(distances.size());
}

}  // namespace nl::stats
