#pragma once
// A simulated machine: the factor by which each next run takes longer than it should, for several kinds of
// noise. Runs of a pair are next to each other and in changing order, as they are measured.

#include <array>
#include <string_view>
#include <vector>

#include "noise.h"
#include "stats/sequential.h"

namespace nl::bench {

enum class Kind { kNormal, kHeavy, kOutliers, kBimodal, kDrift, kLouder };
inline constexpr std::array kKinds = {Kind::kNormal,  Kind::kHeavy, Kind::kOutliers,
                                      Kind::kBimodal, Kind::kDrift, Kind::kLouder};

inline std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::kNormal:
      return "normal 2 %";
    case Kind::kHeavy:
      return "heavy tails, 2 %";
    case Kind::kOutliers:
      return "1.5 %, 5 % of runs 1.1 to 2 times";
    case Kind::kBimodal:
      return "two modes 4 % apart";
    case Kind::kDrift:
      return "2 %, drifts 0.3 % a run";
    case Kind::kLouder:
      return "1.5 %, grows to 3 %";
  }
  return "";
}

class Machine {
 public:
  Machine(Kind kind, Noise& noise) : kind_(kind), noise_(noise) {}

  double next() {
    runs_++;
    switch (kind_) {
      case Kind::kNormal:
        return 1 + 0.02 * noise_.normal();
      case Kind::kHeavy:
        return std::exp(0.02 * noise_.heavy());
      case Kind::kOutliers:
        return (1 + 0.015 * noise_.normal()) * (noise_.happens(0.05) ? noise_.uniform(1.1, 2) : 1);
      case Kind::kBimodal:
        return (noise_.happens(0.5) ? 1.04 : 1) * (1 + 0.005 * noise_.normal());
      case Kind::kDrift:
        return std::exp(0.003 * runs_) * (1 + 0.02 * noise_.normal());
      case Kind::kLouder:
        return 1 + (runs_ > 16 ? 0.03 : 0.015) * noise_.normal();
    }
    return 1;
  }

  /// Good and candidate next to each other, each first as often as the other.
  stats::TimePair pair(double candidate) {
    if (left_in_block_ == 0) {
      left_in_block_ = 2;
      good_first_ = noise_.happens(0.5);
    }
    left_in_block_--;
    good_first_ = !good_first_;
    const double first = next(), second = next();
    return good_first_ ? stats::TimePair{first, second * candidate}
                       : stats::TimePair{second, first * candidate};
  }

 private:
  Kind kind_;
  Noise& noise_;
  int runs_ = 0;
  int left_in_block_ = 0;
  bool good_first_ = false;
};

}  // namespace nl::bench
