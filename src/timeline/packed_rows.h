#pragma once
// All rows of a time line as bytes that a page keeps, so that it can answer for itself what the file answers
// here (web/src/offline/span_rows.ts). Little-endian; a number has seven bits a byte, the lowest first, and
// the highest bit of a byte says that more follow:
//
//   u32      magic (kRowsMagic)
//   numbers  how many names, the bytes of each; then their texts, UTF-8
//   numbers  how many rows, the spans of each
//   numbers  of every span, row by row: its start from the end of the one before, from 0 for the first
//   numbers  lengths
//   numbers  names
//   numbers  items (span.h) less the one before of the row, 0, -1, 1, -2, ... as 0, 1, 2, 3, ...

#include <cstdint>
#include <string>

#include "timeline/timeline_file.h"

namespace nl::timeline {

inline constexpr uint32_t kRowsMagic = 0x3153'4c4e;  // NLS1

struct PackedRows {
  std::string bytes;
  uint64_t left_out = 0;        ///< spans that are not there
  int64_t shorter_than_ns = 0;  ///< each of them is
};

/// At most so many spans: the longest.
PackedRows packed_rows(const TimelineFile& file, uint64_t most_spans);

}  // namespace nl::timeline
