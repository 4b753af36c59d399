#pragma once
// A logarithm that uses only additions, products and divisions. The logarithms of C libraries differ in the
// last digit, and our figures must be the same on every machine.

#include <cmath>

namespace nl {

/// Of a positive finite number; within 1e-14.
inline double portable_log2(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // exact
  if (m < 0.70710678118654752) {
    m *= 2;
    exponent--;
  }
  const double t = (m - 1) / (m + 1);
  const double square = t * t;
  double sum = 0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return exponent + 2.8853900817779268 * (t * sum);  // 2 / ln 2
}

}  // namespace nl
