#pragma once
// Squared distances of packed vectors in single precision, as fast as the processor allows. The last digits
// may differ between processors. That does no harm: the result only selects candidates, whose exact distance
// is then computed separately.

#include <cstddef>
#include <span>
#include <vector>

namespace nl::fingerprint {

/// Sum of squared differences of n numbers.
using SquaredDistance = float (*)(const float* a, const float* b, size_t n);
SquaredDistance squared_distance_here();
float squared_distance_plain(const float* a, const float* b, size_t n);

/// Columns that lie together in a query and in a row.
struct ColumnRange {
  size_t query, row, length;
};

/// Ranges cut into pieces, after each of which a row may be given up.
std::vector<ColumnRange> cut(const std::vector<ColumnRange>& ranges);

/// The distance, or any number above `limit` once it is known to be larger.
inline float bounded_distance(SquaredDistance squared, const float* query, const float* row,
                              std::span<const ColumnRange> ranges, float limit) {
  float sum = 0;
  for (const ColumnRange& range : ranges) {
    sum += squared(query + range.query, row + range.row, range.length);
    if (sum > limit) return sum;
  }
  return sum;
}

}  // namespace nl::fingerprint
