#include "fingerprint/scan.h"

#include <algorithm>

namespace nl::fingerprint {

#if defined(__x86_64__)
float squared_distance_avx2(const float* a, const float* b, size_t n);  // scan_avx2.cpp
#endif

namespace {

constexpr size_t kPiece = 64;  // four cache lines

}  // namespace

float squared_distance_plain(const float* a, const float* b, size_t n) {
  float sums[4] = {0, 0, 0, 0};
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (size_t k = 0; k < 4; k++) {
      const float difference = a[i + k] - b[i + k];
      sums[k] += difference * difference;
    }
  }
  for (; i < n; i++) sums[0] += (a[i] - b[i]) * (a[i] - b[i]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

SquaredDistance squared_distance_here() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return squared_distance_avx2;
#endif
  return squared_distance_plain;
}

std::vector<ColumnRange> cut(const std::vector<ColumnRange>& ranges) {
  std::vector<ColumnRange> pieces;
  for (const ColumnRange& range : ranges) {
    for (size_t at = 0; at < range.length; at += kPiece)
      pieces.push_back({range.query + at, range.row + at, std::min(kPiece, range.length - at)});
  }
  return pieces;
}

}  // namespace nl::fingerprint
