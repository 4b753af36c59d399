#pragma once
// A tile of several rows as columns: the form in which it is told, as JSON or as bytes.

#include <vector>

#include "timeline/tile.h"

namespace nl::timeline {

struct TileColumns {
  // Of each row
  std::vector<uint32_t> rows;
  std::vector<uint32_t> ends;  ///< of its items

  // Of each item, see TileItem
  std::vector<uint32_t> bucket, buckets;
  std::vector<uint64_t> count;
  std::vector<int64_t> busy_ns;
  std::vector<ItemId> items;  ///< the span that is shown
  std::vector<int64_t> start_ns, dur_ns;
  std::vector<uint32_t> name;  ///< number in `names`

  std::vector<uint32_t> names;  ///< of the file, in the order in which they come

  /// Room for so many items.
  void reserve(size_t count_of_items);
};

TileColumns tile_columns(const TimelineFile& file, const std::vector<uint32_t>& rows,
                         const Viewport& viewport);

}  // namespace nl::timeline
