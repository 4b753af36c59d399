// Precision and recall of the change points of 15 kinds of series, beside plain E-divisive. See
// docs/analysis/statistics.md.

#include "stats/change_points.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "permutation.h"
#include "series.h"

namespace nl::bench {
namespace {

struct Score {
  int breaks = 0, found = 0, hits = 0;
  int series = 0, with_false = 0;

  void add(const std::vector<size_t>& truth, const std::vector<size_t>& points) {
    std::vector<bool> taken(points.size());
    int hits_here = 0;
    for (const size_t at : truth) hits_here += take(at, points, taken);
    breaks += static_cast<int>(truth.size());
    found += static_cast<int>(points.size());
    hits += hits_here;
    series++;
    with_false += static_cast<int>(points.size()) > hits_here;
  }
  void add(const Score& other) {
    breaks += other.breaks;
    found += other.found;
    hits += other.hits;
    series += other.series;
    with_false += other.with_false;
  }

 private:
  static int take(size_t at, const std::vector<size_t>& points, std::vector<bool>& taken) {
    for (size_t i = 0; i < points.size(); i++) {
      if (taken[i] || points[i] + 2 < at || points[i] > at + 2) continue;
      taken[i] = true;
      return 1;
    }
    return 0;
  }
};

std::vector<size_t> places(const std::vector<stats::ChangePoint>& points) {
  std::vector<size_t> at;
  for (const auto& point : points) {
    if (point.alert) at.push_back(point.at);
  }
  return at;
}

void print_share(int part, int whole) {
  if (whole == 0) {
    std::printf(" - |");
  } else {
    std::printf(" %.2f |", static_cast<double>(part) / whole);
  }
}

void print_row(std::string_view name, int series, const Score& ours, const Score& plain) {
  std::printf("| %.*s | %d |", static_cast<int>(name.size()), name.data(), series);
  for (const Score* s : {&ours, &plain}) {
    print_share(s->hits, s->found);
    print_share(s->hits, s->breaks);
    print_share(s->with_false, s->series);
  }
  std::printf("\n");
}

void print_quality(int series, int permutations) {
  std::printf(
      "<!-- table: change_points -->\n| series | count | precision | recall | series with a false point | "
      "plain: precision | recall | "
      "series with a false point |\n|---|---|---|---|---|---|---|---|\n");
  Score ours_all, plain_all;
  uint64_t seed = 1;
  for (const Shape& shape : shapes()) {
    Score ours, plain;
    Noise noise(seed++), shuffling(seed + 1000);
    for (int i = 0; i < series; i++) {
      const KnownSeries known = shape.make(noise);
      ours.add(known.breaks, places(stats::find_change_points(known.values)));
      plain.add(known.breaks, permutations == 0
                                  ? std::vector<size_t>()
                                  : divide_by_permutations(known.values, shuffling, permutations));
    }
    print_row(shape.name, series, ours, plain);
    ours_all.add(ours);
    plain_all.add(plain);
  }
  print_row("all", ours_all.series, ours_all, plain_all);
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// What appending costs: a series of 10,000 values with a step at every 500.
void print_append_cost() {
  Noise noise(99);
  std::vector<double> values;
  for (size_t i = 0; i < 10'000; i++)
    values.push_back((1000 + 50.0 * (i / 500 % 2)) * (1 + 0.01 * noise.normal()));
  auto start = std::chrono::steady_clock::now();
  const size_t found = stats::find_change_points(values).size();
  const double whole = milliseconds_since(start);
  stats::ChangePointSeries series;
  for (const double v : values) series.append(v);
  const uint64_t before = series.evaluated_windows();
  start = std::chrono::steady_clock::now();
  constexpr int kAppended = 100;
  for (int i = 0; i < kAppended; i++) series.append(1000 * (1 + 0.01 * noise.normal()));
  const double append = milliseconds_since(start) / kAppended;
  start = std::chrono::steady_clock::now();
  const size_t now = series.points().size();
  std::printf(
      "\n<!-- end -->\n10,000 values, %zu change points: from scratch %.1f ms (400 windows); append %.3f ms "
      "(%.1f "
      "windows); "
      "points of it %.2f ms (%zu)\n",
      found, whole, append, static_cast<double>(series.evaluated_windows() - before) / kAppended,
      milliseconds_since(start), now);
}

}  // namespace
}  // namespace nl::bench

int main(int argc, char** argv) {
  const int series = argc > 1 ? std::atoi(argv[1]) : 40;
  nl::bench::print_quality(series, argc > 2 ? std::atoi(argv[2]) : 199);
  nl::bench::print_append_cost();
}
