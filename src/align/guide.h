#pragma once
// The position of the band in each row of an alignment: around the path that the two stretches are expected
// to take.

#include <span>
#include <vector>

#include "align/features.h"

namespace nl::align {

/// Columns that a band may move from one row to the next.
inline size_t most_shift(size_t width) {
  return width / 4 + 1;
}

enum class Guide : uint8_t {
  kStraight,  ///< what one side has more is spread evenly
  kBent       ///< a rough alignment finds where one side has a long stretch more
};

/// The first column of the band for rows 0 to rows.size(), never falling, from corner to corner. A band of
/// `width` of the columns.size() + 1 columns.
PagedVector<uint32_t> band_of(std::span<const Features> rows, std::span<const Features> columns, size_t width,
                              Guide guide);

}  // namespace nl::align
