#pragma once
// Explains where two runs agree and where they differ, dimension by dimension, in numbers and in words.

#include <optional>
#include <string>
#include <vector>

#include "base/described.h"
#include "base/json.h"
#include "fingerprint/distance.h"

namespace nl::fingerprint {

/// Dimensions that are nearer than this agree.
inline constexpr double kAgrees = 0.1;

struct DescribedRun {
  const Fingerprint& print;
  const nlohmann::json& measures;
};

/// A dimension that both runs have. What differs most in it, and its two values; a number has no part.
struct ComparedDimension {
  std::string id, name;
  double distance = 0, weight = 0;
  bool agrees = false;
  std::optional<std::string> part;
  double here = 0, there = 0;
  static constexpr auto fields() {
    using S = ComparedDimension;
    return std::tuple{field("id", &S::id, "of the dimension"),
                      field("name", &S::name, "for people"),
                      field("distance", &S::distance, "0: alike, 1: nothing in common"),
                      field("weight", &S::weight, "weight of the dimension"),
                      field("agrees", &S::agrees, "whether the two are near enough"),
                      field("part", &S::part, "what differs most; null if the dimension is one number"),
                      field("here", &S::here, "its value or share in this run"),
                      field("there", &S::there, "its value or share in the other run")};
  }
};

/// A dimension that one of the runs does not have.
struct MissingDimension {
  std::string id, name;
  std::optional<std::string> missing_here, missing_there;
  static constexpr auto fields() {
    using S = MissingDimension;
    return std::tuple{
        field("id", &S::id, "of the dimension"), field("name", &S::name, "for people"),
        field("missing_here", &S::missing_here, "why this run lacks it; null if it does not"),
        field("missing_there", &S::missing_there, "why the other run lacks it; null if it does not")};
  }
};

/// The dimensions that both have, the largest part of the distance first.
std::vector<ComparedDimension> explain(const DescribedRun& here, const DescribedRun& there);

/// The others.
std::vector<MissingDimension> not_compared(const Fingerprint& here, const Fingerprint& there);

}  // namespace nl::fingerprint
