#include "timeline/tile.h"

#include <algorithm>

namespace nl::timeline {
namespace {

/// Joins buckets that show the same span.
class Items {
 public:
  void add(const TileItem& item) {
    if (!list.empty() && list.back().place == item.place &&
        list.back().bucket + list.back().buckets == item.bucket) {
      TileItem& last = list.back();
      last.buckets += item.buckets;
      last.count += item.count;
      last.busy_ns += item.busy_ns;
    } else {
      list.push_back(item);
    }
  }
  std::vector<TileItem> list;
};

/// From the coarse sums of the row, whose buckets are not wider than those asked for.
std::vector<TileItem> from_level(const Row& row, const Row::Level& level, const Viewport& viewport) {
  Items items;
  const uint32_t finer = viewport.exponent - level.exponent;
  const int64_t first = bucket_of(row.begin_ns(), level.exponent);
  const auto stored = static_cast<int64_t>(level.buckets.size());
  constexpr int64_t kAhead = 32;
  for (uint32_t i = 0; i < viewport.buckets; i++) {
    const int64_t at = ((viewport.first + i) << finer) - first;
    TileItem item{i, 1, kFar, 0, 0};
    const int64_t end = std::min(stored, at + (int64_t{1} << finer));
    for (int64_t k = std::max<int64_t>(0, at); k < end; k++) {
      const Coarse& bucket = level.buckets[static_cast<size_t>(k)];
      if (k + kAhead < stored) row.prefetch_length(level.buckets[static_cast<size_t>(k + kAhead)].longest);
      item.count += bucket.count;
      item.busy_ns += bucket.busy_ns;
      if (bucket.longest >= row.size()) continue;
      const bool is_longer = item.place == kFar || row.dur_ns(bucket.longest) > row.dur_ns(item.place);
      if (is_longer) item.place = bucket.longest;
    }
    if (item.place != kFar) items.add(item);
  }
  return std::move(items.list);
}

/// From the spans themselves, bucket by bucket where spans begin.
class Sweep {
 public:
  Sweep(const Row& row, const Viewport& viewport) : row_(row), viewport_(viewport) {}

  std::vector<TileItem> items() {
    uint32_t started = row_.first_from(viewport_.begin_ns(0));  // those before it have started already
    for (uint32_t bucket = 0; bucket < viewport_.buckets;) {
      const uint32_t alone = buckets_without_start(bucket, started);
      if (alone > 0) {
        add_rest_of_last(bucket, alone, started);
        bucket += alone;
      } else {
        const uint32_t next = row_.first_from(viewport_.begin_ns(bucket + 1), started);
        add_bucket(bucket, started, std::max(next, started + 1));
        started = std::max(next, started + 1);
        bucket++;
      }
    }
    return std::move(out_.list);
  }

 private:
  /// So many from this one on in which no span starts.
  uint32_t buckets_without_start(uint32_t bucket, uint32_t started) const {
    const uint32_t left = viewport_.buckets - bucket;
    if (started >= row_.size()) return left;
    const int64_t until =
        bucket_of(row_.start_ns(started), viewport_.exponent) - viewport_.first - int64_t{bucket};
    return static_cast<uint32_t>(std::clamp<int64_t>(until, 0, left));
  }

  /// What the span that started last covers of these.
  void add_rest_of_last(uint32_t bucket, uint32_t buckets, uint32_t started) {
    if (started == 0) return;
    const uint32_t place = started - 1;
    const int64_t begin = viewport_.begin_ns(bucket);
    const Span span = row_.span(place);
    if (span.reach_ns() <= begin) return;
    const int64_t last =
        bucket_of(span.reach_ns() - 1, viewport_.exponent) - viewport_.first - int64_t{bucket};
    const auto covered = static_cast<uint32_t>(std::clamp<int64_t>(last + 1, 1, buckets));
    const int64_t end = std::min(span.end_ns(), viewport_.begin_ns(bucket + covered));
    out_.add({bucket, covered, place, 0, end - begin});
  }

  /// Spans of [from, to) start in it; the one before may reach into it.
  void add_bucket(uint32_t bucket, uint32_t from, uint32_t to) {
    const int64_t begin = viewport_.begin_ns(bucket), end = viewport_.begin_ns(bucket + 1);
    const bool reaches_in = from > 0 && row_.span(from - 1).reach_ns() > begin;
    uint32_t longest = row_.longest(from, to);
    int64_t busy_ns = row_.busy_of(from, to);
    busy_ns -= std::max<int64_t>(0, row_.span(to - 1).end_ns() - end);
    if (reaches_in) {
      const Span before = row_.span(from - 1);
      busy_ns += before.end_ns() - begin;
      if (before.dur_ns >= row_.dur_ns(longest)) longest = from - 1;
    }
    out_.add({bucket, 1, longest, to - from, busy_ns});
  }

  const Row& row_;
  const Viewport& viewport_;
  Items out_;
};

}  // namespace

std::vector<TileItem> tile_of(const Row& row, const Viewport& viewport) {
  const Row::Level level = row.level_within(viewport.exponent);
  if (!level.buckets.empty()) return from_level(row, level, viewport);
  return Sweep(row, viewport).items();
}

}  // namespace nl::timeline
