// Compiled with AVX2 and FMA; called only where the processor has them.

#if defined(__x86_64__)

#include <immintrin.h>

#include <cstddef>

namespace nl::fingerprint {

float squared_distance_avx2(const float* a, const float* b, size_t n);

namespace {

__m256 difference(const float* a, const float* b) {
  return _mm256_sub_ps(_mm256_loadu_ps(a), _mm256_loadu_ps(b));
}

float sum_of(__m256 v) {
  const __m128 half = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 pair = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_add_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}

}  // namespace

float squared_distance_avx2(const float* a, const float* b, size_t n) {
  __m256 first = _mm256_setzero_ps(), second = _mm256_setzero_ps();
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m256 d0 = difference(a + i, b + i), d1 = difference(a + i + 8, b + i + 8);
    first = _mm256_fmadd_ps(d0, d0, first);
    second = _mm256_fmadd_ps(d1, d1, second);
  }
  for (; i + 8 <= n; i += 8) {
    const __m256 d = difference(a + i, b + i);
    first = _mm256_fmadd_ps(d, d, first);
  }
  float sum = sum_of(_mm256_add_ps(first, second));
  for (; i < n; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

}  // namespace nl::fingerprint

#endif
