#include "fingerprint/distance.h"

#include <cmath>

namespace nl::fingerprint {
namespace {

/// Two sets of shares are at most the root of 2 apart.
double factor_of(DimensionKind kind) {
  return kind == DimensionKind::kShares ? 0.5 : 1;
}

double squared(const Fingerprint& a, const Fingerprint& b, Dimension dimension) {
  const auto left = a.of(dimension), right = b.of(dimension);
  double sum = 0;
  for (size_t i = 0; i < left.size(); i++) {
    const double difference = static_cast<double>(left[i]) - static_cast<double>(right[i]);
    sum += difference * difference;
  }
  return sum * factor_of(info(dimension).kind);
}

}  // namespace

double dimension_distance(const Fingerprint& a, const Fingerprint& b, Dimension dimension) {
  return std::sqrt(squared(a, b, dimension));
}

Distance distance(const Fingerprint& a, const Fingerprint& b) {
  Distance out{0, a.present & b.present};
  double sum = 0;
  for (size_t i = 0; i < kDimensions; i++) {
    const auto dimension = static_cast<Dimension>(i);
    if (has(out.shared, dimension)) sum += info(dimension).weight * squared(a, b, dimension);
  }
  const double weight = weight_of(out.shared);
  if (weight > 0) out.value = std::sqrt(sum / weight);
  return out;
}

bool comparable(Mask asked, Mask other) {
  const double shared = weight_of(asked & other);
  return shared > 0 && shared >= kLeastShared * weight_of(asked);
}

std::vector<float> packed(const Fingerprint& run, Mask mask) {
  std::vector<float> out;
  out.reserve(columns_of(mask));
  for (size_t i = 0; i < kDimensions; i++) {
    const auto dimension = static_cast<Dimension>(i);
    if (!has(mask, dimension)) continue;
    const auto scale =
        static_cast<float>(std::sqrt(info(dimension).weight * factor_of(info(dimension).kind)));
    for (const float value : run.of(dimension)) out.push_back(value * scale);
  }
  return out;
}

}  // namespace nl::fingerprint
