// timeline_time: what questions to the file of a time line cost, and whether tiles are right. Run by
// bench/timeline/run.
//
// usage: timeline_time FILE [tiles a zoom] [tiles to check]. For each zoom: CPU of a tile of 512 buckets over
// all rows, and over 32 rows as the page asks for them (p50, p99), its items, its packed bytes; then sums of
// areas and searches. Checked tiles are drawn once more by looking at every span of a row.

#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <numeric>
#include <random>

#include "timeline/area.h"
#include "timeline/packed_tile.h"

namespace nl::timeline {
namespace {

constexpr uint32_t kBuckets = 512;
constexpr size_t kRowsOfAGroup = 32;  ///< as in web/src/timeline/tile_store.ts

double cpu_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

template <class Work>
double cost_ms(const Work& work) {
  const double before = cpu_ms();
  work();
  return cpu_ms() - before;
}

double at(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<size_t>(share * static_cast<double>(values.size())))];
}

std::vector<TileItem> plain_tile(const Row& row, const Viewport& view) {
  std::vector<TileItem> buckets(view.buckets, {0, 1, kFar, 0, 0});
  for (uint32_t i = 0; i < row.size(); i++) {
    const Span span = row.span(i);
    const int64_t first = std::max<int64_t>(0, (span.start_ns >> view.exponent) - view.first);
    const int64_t last =
        std::min<int64_t>(view.buckets - 1, ((span.reach_ns() - 1) >> view.exponent) - view.first);
    for (int64_t b = first; b <= last; b++) {
      TileItem& bucket = buckets[static_cast<size_t>(b)];
      const int64_t begin = view.begin_ns(b), end = view.begin_ns(b + 1);
      bucket.count += span.start_ns >= begin;
      bucket.busy_ns += std::max<int64_t>(0, std::min(span.end_ns(), end) - std::max(span.start_ns, begin));
      if (bucket.place == kFar || span.dur_ns > row.dur_ns(bucket.place)) bucket.place = i;
    }
  }
  std::vector<TileItem> items;
  for (uint32_t b = 0; b < view.buckets; b++) {
    if (buckets[b].place == kFar) continue;
    const bool goes_on = !items.empty() && items.back().place == buckets[b].place &&
                         items.back().bucket + items.back().buckets == b;
    if (!goes_on) {
      items.push_back(buckets[b]);
      items.back().bucket = b;
      continue;
    }
    items.back().buckets++;
    items.back().count += buckets[b].count;
    items.back().busy_ns += buckets[b].busy_ns;
  }
  return items;
}

struct Bench {
  const TimelineFile& file;
  std::vector<uint32_t> rows;
  int64_t end_ns;
  std::mt19937_64 random{1};

  Viewport any_tile(uint32_t level) {
    const int64_t tiles = (end_ns >> (level + 9)) + 1;
    return {level, std::uniform_int_distribution<int64_t>(0, tiles - 1)(random) * kBuckets, kBuckets};
  }

  std::vector<uint32_t> any_group() {
    const size_t groups = (rows.size() + kRowsOfAGroup - 1) / kRowsOfAGroup;
    const size_t first = random() % groups * kRowsOfAGroup;
    return {rows.begin() + static_cast<int64_t>(first),
            rows.begin() + static_cast<int64_t>(std::min(rows.size(), first + kRowsOfAGroup))};
  }

  void time_tiles(int tiles) {
    fmt::print("{:>6} {:>12} {:>20} {:>8} {:>10} {:>10} {:>16} {:>8}\n", "level", "tile, ms",
               "all rows: p50, ms", "p99, ms", "items p99", "kB p99", "32 rows: p50, ms", "p99, ms");
    uint32_t whole = 0;
    while ((end_ns >> (whole + 9)) > 0) whole++;
    for (int level = static_cast<int>(whole); level >= 0; level -= 2) {
      std::vector<double> costs, of_groups, items, bytes;
      for (int i = 0; i < tiles; i++) {
        const Viewport view = any_tile(static_cast<uint32_t>(level));
        std::string packed;
        costs.push_back(cost_ms([&] { packed = packed_tile(file, tile_columns(file, rows, view), view); }));
        items.push_back(static_cast<double>(reinterpret_cast<const uint32_t*>(packed.data())[2]));
        bytes.push_back(static_cast<double>(packed.size()) / 1e3);
      }
      for (int i = 0; i < tiles; i++) {
        const Viewport view = any_tile(static_cast<uint32_t>(level));
        const std::vector<uint32_t> group = any_group();
        of_groups.push_back(cost_ms([&] { packed_tile(file, tile_columns(file, group, view), view); }));
      }
      fmt::print("{:6} {:12.3f} {:20.3f} {:8.3f} {:10.0f} {:10.1f} {:16.3f} {:8.3f}\n", level,
                 static_cast<double>(int64_t{kBuckets} << level) / 1e6, at(costs, 0.5), at(costs, 0.99),
                 at(items, 0.99), at(bytes, 0.99), at(of_groups, 0.5), at(of_groups, 0.99));
    }
  }

  void time_questions() {
    for (const double share : {1.0, 0.1, 0.01}) {
      std::vector<double> costs;
      uint64_t spans = 0;
      for (int i = 0; i < 5; i++) {
        const auto length = static_cast<int64_t>(share * static_cast<double>(end_ns));
        const int64_t begin = std::uniform_int_distribution<int64_t>(0, end_ns - length)(random);
        costs.push_back(cost_ms([&] { spans = sums_of(file, rows, {begin, begin + length}).count; }));
      }
      fmt::print("sums of {:.0f} % of the time: {:.1f} ms (median), {} spans\n", share * 100, at(costs, 0.5),
                 spans);
    }
    for (const char* text : {"gemm", "e", "no such name"}) {
      std::vector<double> costs;
      uint64_t spans = 0;
      for (int i = 0; i < 5; i++)
        costs.push_back(
            cost_ms([&] { spans = find_spans(file, rows, names_with(file, text), end_ns / 2).count; }));
      fmt::print("search for \"{}\": {:.1f} ms (median), {} spans\n", text, at(costs, 0.5), spans);
    }
  }

  bool check(int tiles) {
    uint64_t items = 0;
    uint32_t whole = 0;
    while ((end_ns >> (whole + 9)) > 0) whole++;
    for (int i = 0; i < tiles; i++) {
      const Viewport view = any_tile(std::uniform_int_distribution<uint32_t>(0, whole)(random));
      const Row row = file.row(rows[random() % rows.size()]);
      const auto drawn = tile_of(row, view);
      if (drawn != plain_tile(row, view)) {
        fmt::print("DIFFERENT: level {}, first bucket {}, track {}\n", view.exponent, view.first,
                   row.name().track);
        return false;
      }
      items += drawn.size();
    }
    fmt::print("{} tiles of a row, {} items, equal to those of the plain way\n", tiles, items);
    return true;
  }
};

int run(const std::string& path, int tiles, int checked) {
  const auto file = TimelineFile::open(path);
  if (!file || (*file)->rows() == 0) {
    fmt::print(stderr, "timeline_time: {}\n", file ? "the file has no rows" : file.error().message);
    return 2;
  }
  Bench bench{**file, std::vector<uint32_t>((*file)->rows()), 0};
  std::iota(bench.rows.begin(), bench.rows.end(), 0);
  for (const uint32_t row : bench.rows) bench.end_ns = std::max(bench.end_ns, (*file)->row(row).end_ns());
  fmt::print("{} spans in {} rows, {} names, {:.2f} bytes a span\n", (*file)->spans(), (*file)->rows(),
             (*file)->names(), static_cast<double>((*file)->bytes()) / static_cast<double>((*file)->spans()));
  bench.time_tiles(tiles);
  bench.time_questions();
  return bench.check(checked) ? 0 : 1;
}

}  // namespace
}  // namespace nl::timeline

int main(int argc, char** argv) {
  if (argc >= 2)
    return nl::timeline::run(argv[1], argc > 2 ? std::atoi(argv[2]) : 100,
                             argc > 3 ? std::atoi(argv[3]) : 100);
  fmt::print(stderr, "timeline_time FILE [tiles a zoom] [tiles to check]\n");
  return 2;
}
