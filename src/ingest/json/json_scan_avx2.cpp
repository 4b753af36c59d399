// Built with -mavx2 -mpclmul; called only where the machine has them. Keep other headers out of this file:
// their inline functions would be compiled for AVX2 too.
#include "ingest/json/json_scan.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "ingest/json/json_scan_blocks.h"

namespace nl::ingest {
namespace {

struct Avx2Block {
  __m256i low, high;

  explicit Avx2Block(const char* p)
      : low(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))),
        high(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32))) {}
  uint64_t equal(char c) const { return mask(low, high, c); }
  uint64_t equal_folded(char c) const {
    const __m256i fold = _mm256_set1_epi8(0x20);
    return mask(_mm256_or_si256(low, fold), _mm256_or_si256(high, fold), c);
  }
  static uint64_t mask(__m256i a, __m256i b, char c) {
    const __m256i wanted = _mm256_set1_epi8(c);
    const auto first = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, wanted)));
    const auto second = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(b, wanted)));
    return first | static_cast<uint64_t>(second) << 32;
  }
  static uint64_t prefix_xor(uint64_t bits) {
    const __m128i all = _mm_set1_epi8(static_cast<char>(-1));
    return static_cast<uint64_t>(
        _mm_cvtsi128_si64(_mm_clmulepi64_si128(_mm_set_epi64x(0, static_cast<int64_t>(bits)), all, 0)));
  }
};

}  // namespace

size_t json_scan_avx2(const char* text, size_t from, size_t to, JsonScanState& state, size_t* last_comma) {
  return scan_blocks<Avx2Block>(text, from, to, state, last_comma);
}

}  // namespace nl::ingest
#endif
