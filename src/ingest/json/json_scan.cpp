#include "ingest/json/json_scan.h"

#include "ingest/json/json_scan_blocks.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace nl::ingest {
namespace {

#if defined(__x86_64__)

struct Block {
  __m128i part[4];

  explicit Block(const char* p) {
    for (int i = 0; i < 4; i++) part[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
  }
  uint64_t equal(char c) const { return mask(c, 0); }
  /// Without the bit that tells [ from { and ] from }.
  uint64_t equal_folded(char c) const { return mask(c, 0x20); }

  uint64_t mask(char c, char fold) const {
    uint64_t bits = 0;
    for (int i = 0; i < 4; i++) {
      const __m128i folded = _mm_or_si128(part[i], _mm_set1_epi8(fold));
      const auto found = static_cast<uint16_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(folded, _mm_set1_epi8(c))));
      bits |= static_cast<uint64_t>(found) << (16 * i);
    }
    return bits;
  }
#else

struct Block {
  const char* bytes;

  explicit Block(const char* p) : bytes(p) {}
  uint64_t equal(char c) const { return mask(c, 0); }
  uint64_t equal_folded(char c) const { return mask(c, 0x20); }

  uint64_t mask(char c, char fold) const {
    uint64_t bits = 0;
    for (int i = 0; i < 64; i++) bits |= static_cast<uint64_t>((bytes[i] | fold) == c) << i;
    return bits;
  }
#endif
  static uint64_t prefix_xor(uint64_t bits) {
    for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
    return bits;
  }
};

}  // namespace

size_t json_scan_any(const char* text, size_t from, size_t to, JsonScanState& state, size_t* last_comma) {
  return scan_blocks<Block>(text, from, to, state, last_comma);
}

JsonScan json_scan() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul")) return json_scan_avx2;
#endif
  return json_scan_any;
}

}  // namespace nl::ingest
