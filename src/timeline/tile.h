#pragma once
// What a stretch of a row looks like when it is drawn: one item for each run of pixels that show the same
// span. A pixel, here a bucket of 2^exponent ns, shows the longest of the spans that overlap it, by whole
// duration, of equals the earliest.

#include <cstdint>
#include <vector>

#include "timeline/timeline_file.h"

namespace nl::timeline {

/// Buckets of 2^exponent ns; `first` counts from time 0.
struct Viewport {
  uint32_t exponent;
  int64_t first;
  uint32_t buckets;

  int64_t begin_ns(int64_t bucket) const { return (first + bucket) << exponent; }
};

/// Neighbouring buckets that show the same span.
struct TileItem {
  uint32_t bucket;   ///< from the first of the viewport
  uint32_t buckets;  ///< so many
  uint32_t place;    ///< of the span in its row
  uint64_t count;    ///< spans that start in these buckets
  int64_t busy_ns;   ///< of them that spans cover
  bool operator==(const TileItem&) const = default;
};

inline constexpr uint32_t kMostExponent = 55;

/// The exponent is at most kMostExponent.
std::vector<TileItem> tile_of(const Row& row, const Viewport& viewport);

}  // namespace nl::timeline
