#include "stats/usual.h"

#include <cmath>

#include "stats/sample.h"

namespace nl::stats {

Usual usual_of(std::vector<double> values) {
  constexpr double kOfNormal = 1.4826;  // standard deviation of a normal distribution by its median distance
  if (values.empty()) return {};
  Usual usual{.n = values.size()};
  values = sorted(std::move(values));
  usual.median = median(values);
  for (double& value : values) value = std::abs(value - usual.median);
  usual.spread = kOfNormal * median(sorted(std::move(values)));
  return usual;
}

std::optional<double> spreads_from(const Usual& usual, double value) {
  if (usual.spread == 0) return std::nullopt;
  return (value - usual.median) / usual.spread;
}

bool is_unusual(const Usual& usual, double value, double threshold) {
  if (usual.n < kLeastUsual) return false;
  const double away = std::abs(value - usual.median);
  return away > kFarSpreads * usual.spread && away > threshold * std::abs(usual.median);
}

}  // namespace nl::stats
