#include "stats/warm_up.h"

#include <algorithm>

#include "stats/change_points.h"
#include "stats/sample.h"

namespace nl::stats {
namespace {

constexpr size_t kFewest = 5;
constexpr double kMatters = 0.01;  // slower by less is no warm-up

std::vector<double> sorted_part(const std::vector<double>& values, size_t from, size_t to) {
  return sorted({values.begin() + static_cast<ptrdiff_t>(from), values.begin() + static_cast<ptrdiff_t>(to)});
}

/// Beyond this a value is slower than a stretch's own values ever are.
double fence_of(const std::vector<double>& sorted_values) {
  const double quartile = quantile(sorted_values, 0.75);
  const double spread = quartile - quantile(sorted_values, 0.25);
  return std::max(quartile + 3 * spread, median(sorted_values) * (1 + kMatters));
}

/// Behind the slow values at the front of [from, to), as far as half of the series.
size_t behind_slow_front(const std::vector<double>& durations, size_t from, size_t to) {
  const double fence = fence_of(sorted_part(durations, from, to));
  size_t at = from;
  while (at + 1 < to && at < durations.size() / 2 && durations[at] > fence) at++;
  return at;
}

/// First values of the segments from `from` on, and the end.
std::vector<size_t> segments_of(const std::vector<double>& durations, size_t from) {
  const std::vector<double> rest(durations.begin() + static_cast<ptrdiff_t>(from), durations.end());
  std::vector<size_t> begins = {from};
  for (const ChangePoint& point : find_change_points(rest, {.min_magnitude = kMatters})) {
    if (point.alert) begins.push_back(from + point.at);
  }
  begins.push_back(durations.size());
  return begins;
}

/// The first segment that the next one does not beat.
size_t steady_segment(const std::vector<double>& durations, const std::vector<size_t>& begins) {
  size_t i = 0;
  while (i + 2 < begins.size() && begins[i + 1] <= durations.size() / 2) {
    const double here = median(sorted_part(durations, begins[i], begins[i + 1]));
    const double next = median(sorted_part(durations, begins[i + 1], begins[i + 2]));
    if (here < next * (1 + kMatters)) break;
    i++;
  }
  return i;
}

}  // namespace

std::optional<WarmUp> find_warm_up(const std::vector<double>& durations) {
  const size_t n = durations.size();
  if (n < kFewest) return std::nullopt;
  const size_t front = behind_slow_front(durations, 0, std::max(kFewest, n / 2));
  const std::vector<size_t> begins = segments_of(durations, front);
  const size_t segment = steady_segment(durations, begins);
  const size_t end = begins[segment + 1];
  const size_t at = behind_slow_front(durations, begins[segment], end);
  return WarmUp{at, median(sorted_part(durations, at, end))};
}

}  // namespace nl::stats
