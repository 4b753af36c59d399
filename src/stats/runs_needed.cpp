#include "stats/runs_needed.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "base/portable_log.h"
#include "stats/distributions.h"
#include "stats/rank_test.h"

namespace nl::stats {

double natural_log(double x) {
  if (!(x > 0) || !std::isfinite(x)) return std::numeric_limits<double>::infinity();
  return portable_log2(x) * std::numbers::ln2;
}

std::optional<double> log_spread(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || b.empty() || a.size() + b.size() < 3) return std::nullopt;
  double squares = 0;
  size_t freedom = 0;
  for (const auto* side : {&a, &b}) {
    double mean = 0;
    for (const double v : *side) mean += natural_log(v) / static_cast<double>(side->size());
    for (const double v : *side) squares += (natural_log(v) - mean) * (natural_log(v) - mean);
    freedom += side->size() - 1;
  }
  const double spread = std::sqrt(squares / static_cast<double>(freedom));
  return std::isfinite(spread) ? std::optional(spread) : std::nullopt;
}

std::optional<int64_t> runs_by_spread(double spread, double gap, double tail) {
  constexpr double kEfficiency = 0.955;  // of ranks against means, for normal values
  if (!std::isfinite(gap) || gap == 0) return std::nullopt;
  const double z = normal_quantile(1 - tail) + normal_quantile(0.8);
  const double n = std::ceil(2 * (z * spread / gap) * (z * spread / gap) / kEfficiency);
  if (n >= static_cast<double>(kMostRuns + 1)) return std::nullopt;
  return static_cast<int64_t>(n);
}

int64_t runs_to_reach(double p) {
  size_t n = 2;
  while (n < 64 && smallest_p(n, n) >= p) n++;
  return static_cast<int64_t>(n);
}

}  // namespace nl::stats
