#include "stats/distributions.h"

#include <cmath>
#include <initializer_list>
#include <numbers>

namespace nl::stats {
namespace {

/// Stirling's series after moving x up to 12 or more; std::lgamma writes a global variable.
double log_gamma(double x) {
  double moved = 0;
  for (; x < 12; x++) moved += std::log(x);
  const double r = 1 / (x * x);
  const double series = (1.0 / 12 - r * (1.0 / 360 - r * (1.0 / 1260 - r * (1.0 / 1680 - r / 1188)))) / x;
  return (x - 0.5) * std::log(x) - x + 0.5 * std::log(2 * std::numbers::pi) + series - moved;
}

double kept_from_zero(double x) {
  constexpr double kTiny = 1e-300;
  return std::abs(x) < kTiny ? kTiny : x;
}

/// Continued fraction of the incomplete beta function, evaluated from the front.
double beta_fraction(double a, double b, double x) {
  double c = 1;
  double d = 1 / kept_from_zero(1 - (a + b) * x / (a + 1));
  double value = d;
  for (int m = 1; m < 300; m++) {
    for (const bool odd : {false, true}) {
      const double term = odd ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
                              : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
      d = 1 / kept_from_zero(1 + term * d);
      c = kept_from_zero(1 + term / c);
      value *= c * d;
    }
    if (std::abs(c * d - 1) < 1e-15) break;
  }
  return value;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

double normal_tail(double z) {
  return 0.5 * std::erfc(z / std::numbers::sqrt2);
}

double normal_quantile(double p) {
  double low = -40, high = 40;
  for (int i = 0; i < 80; i++) {
    const double middle = (low + high) / 2;
    (normal_tail(-middle) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

double student_two_sided(double t, double freedom) {
  return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

}  // namespace nl::stats
