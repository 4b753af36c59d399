#pragma once
// Where two runs agree and where they differ, dimension by dimension, in figures and in words.

#include "base/json.h"
#include "fingerprint/distance.h"

namespace nl::fingerprint {

/// Dimensions that are nearer than this agree.
inline constexpr double kAgrees = 0.1;

struct DescribedRun {
  const Fingerprint& print;
  const nlohmann::json& measures;
};

/// [{id, name, distance, weight, agrees, part, here, there}] of the dimensions that both have, the largest
/// part of the distance first. part, here, there: what differs most and its two values; a number has no part.
nlohmann::json explain(const DescribedRun& here, const DescribedRun& there);

/// [{id, name, missing_here, missing_there}] with the reasons, null where it is there; of the others.
nlohmann::json not_compared(const Fingerprint& here, const Fingerprint& there);

}  // namespace nl::fingerprint
