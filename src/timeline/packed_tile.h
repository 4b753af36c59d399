#pragma once
// A tile as bytes that a page draws without parsing. Little-endian:
//
//   u32  magic (kPackedMagic), rows, items, names, exponent, buckets
//   f64  begin_ns of the tile, exact up to 2^53
//   f64  start_ns of each item's span, from the begin of the tile
//   f64  dur_ns of it
//   f64  busy_ns of the item's buckets
//   u32  number of each row; u32 end of its items
//   u32  name of each item, as a number in this tile; u32 item (span.h); u32 count
//   u32  ends of the names' texts
//   u16  first bucket of each item; u16 buckets
//   the texts of the names, UTF-8

#include <string>
#include <string_view>
#include <vector>

#include "timeline/tile_columns.h"

namespace nl::timeline {

inline constexpr uint32_t kPackedMagic = 0x3254'4c4e;  // NLT2

/// `texts`: of the names of the columns.
std::string packed_tile(const std::vector<std::string_view>& texts, const TileColumns& columns,
                        const Viewport& viewport);
std::string packed_tile(const TimelineFile& file, const TileColumns& columns, const Viewport& viewport);

}  // namespace nl::timeline
