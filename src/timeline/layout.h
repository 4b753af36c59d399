#pragma once
// The file of a time line: for every row its spans by start in narrow columns, an index of the longest span
// and of the time covered per 16 spans, and coarse sums where a row is dense. It is derived, made to be
// mapped, and needs at most 16 bytes a span. All numbers are little-endian; every part begins at a multiple
// of 8 bytes.
//
//   magic
//   of each row   starts   u32[n]  from the start of the block; kFar: see far_starts
//                 lengths  u32[n]  kFar: see far_lengths
//                 items    u32[n]
//                 names    u16[n], or u32[n] if there are more names than 65,536
//                 blocks   Block[n / 16]
//                 best     u8[n / 16]   place of the longest span within its block
//                 better   u32[n / 256], u32[n / 4096], ...   place of the longest span in the row
//                 far_starts, far_lengths   Far[]   by index
//                 levels   Coarse[] a level, the finest first, see RowHead
//   names         u64[names + 1] ends of the texts, and the texts
//   rows          RowHead[]
//   Trailer

#include <bit>
#include <cstddef>
#include <cstdint>

namespace nl::timeline {

static_assert(std::endian::native == std::endian::little);

inline constexpr uint64_t kMagic = 0x3130'454e'494c'544e;  // NTLINE01
inline constexpr uint32_t kFar = UINT32_MAX;
inline constexpr uint32_t kBlockSpans = 16;
inline constexpr uint32_t kFinestLevel = 14;     ///< buckets of 16 us, where a row is as dense as that
inline constexpr uint32_t kLevelStep = 2;        ///< the next level has buckets four times as wide
inline constexpr uint32_t kSpansOfABucket = 64;  ///< a level has at least so many on average
inline constexpr int64_t kFewestBuckets = 64;    ///< a level with fewer helps nobody

struct Block {
  int64_t start_ns;        ///< of its first span
  int64_t busy_before_ns;  ///< of all spans of the row before it
};

/// A start or a length that needs more than 32 bits.
struct Far {
  uint64_t index;
  int64_t value;
};

/// A bucket of a level.
struct Coarse {
  uint32_t longest;  ///< place of the longest span that overlaps it; kFar: none does
  uint32_t count;    ///< spans that start in it
  int64_t busy_ns;
};

struct RowHead {
  int32_t track = 0;
  uint32_t depth = 0;
  uint32_t lane = 0;
  uint32_t spans = 0;
  uint64_t at = 0;  ///< offset of its first part
  uint64_t far_starts = 0;
  uint64_t far_lengths = 0;
  uint32_t finest = 0;  ///< the finest level has buckets of 2^finest ns
  uint32_t levels = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t busy_ns = 0;
};
static_assert(sizeof(RowHead) == 72);

struct Trailer {
  uint64_t names_at = 0;
  uint64_t names = 0;
  uint64_t name_bytes = 0;  ///< of a name's number in a row: 2 or 4
  uint64_t rows_at = 0;
  uint64_t rows = 0;
  uint64_t spans = 0;
  int64_t origin_ns = 0;    ///< time 0 of the file on the clock of the run: the first start
  uint64_t not_placed = 0;  ///< rows of the tables that have no time
  uint64_t bytes = 0;       ///< of the whole file
  uint64_t magic = 0;
};

/// The bucket that a time lies in, also before 0.
inline int64_t bucket_of(int64_t ns, uint32_t exponent) {
  return ns >> exponent;
}

/// How many buckets [begin_ns, end_ns), which is not empty, lies in.
inline int64_t buckets_between(int64_t begin_ns, int64_t end_ns, uint32_t exponent) {
  return bucket_of(end_ns - 1, exponent) - bucket_of(begin_ns, exponent) + 1;
}

constexpr uint64_t padded(uint64_t bytes) {
  return (bytes + 7) / 8 * 8;
}

/// Where the parts of a row lie, from what its head says.
struct RowParts {
  RowParts(uint64_t spans, uint64_t name_bytes, uint64_t far_start_count, uint64_t far_length_count) {
    const uint64_t blocks = (spans + kBlockSpans - 1) / kBlockSpans;
    lengths = padded(spans * 4);
    items = lengths + padded(spans * 4);
    names = items + padded(spans * 4);
    block = names + padded(spans * name_bytes);
    best = block + blocks * sizeof(Block);
    better = best + padded(blocks);
    uint64_t more = 0;
    for (uint64_t count = blocks; count > 1;) {
      count = (count + kBlockSpans - 1) / kBlockSpans;
      more += count;
    }
    far_starts = better + padded(more * 4);
    far_lengths = far_starts + far_start_count * sizeof(Far);
    levels = far_lengths + far_length_count * sizeof(Far);
  }

  // From the first part, which holds the starts.
  uint64_t lengths, items, names, block, best, better, far_starts, far_lengths, levels;
};

}  // namespace nl::timeline
