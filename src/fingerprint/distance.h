#pragma once
// The distance between two runs. Only dimensions that were measured in both runs count.

#include <vector>

#include "fingerprint/fingerprint.h"

namespace nl::fingerprint {

/// Runs that share less than this part of the asked run's weight say too little about each other.
inline constexpr double kLeastShared = 0.5;

/// From 0 to 1: for a number the difference, for shares the Euclidean distance over its largest value.
double dimension_distance(const Fingerprint& a, const Fingerprint& b, Dimension dimension);

struct Distance {
  double value = 0;  ///< 0 to 1: root of the weighted mean of the squares over the shared dimensions
  Mask shared = 0;
};
Distance distance(const Fingerprint& a, const Fingerprint& b);

/// Whether `other` may be ranked as a neighbour of `asked`: by masks alone.
bool comparable(Mask asked, Mask other);

/// Columns such that, for dimensions in common, distance = |packed(a) - packed(b)| / sqrt(weight_of(mask)).
std::vector<float> packed(const Fingerprint& run, Mask mask);

}  // namespace nl::fingerprint
