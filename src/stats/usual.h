#pragma once
// What most values of a sample are like, and which value is far from that. Nothing is assumed about the
// distribution but that more than half of the values are as usual. Pure functions; any thread.

#include <cstddef>
#include <optional>
#include <vector>

namespace nl::stats {

/// With fewer values nobody can say what is usual.
inline constexpr size_t kLeastUsual = 6;
/// Of a normal distribution less than one value in a million is so far away.
inline constexpr double kFarSpreads = 5;

struct Usual {
  size_t n = 0;
  double median = 0;
  double spread = 0;  ///< from the median distance to the median; of normal values the standard deviation
};

/// All 0 if the sample is empty.
Usual usual_of(std::vector<double> values);

/// From the median, in spreads, positive if the value is larger. Absent if the spread is 0: more than half of
/// the values are equal.
std::optional<double> spreads_from(const Usual& usual, double value);

/// Further away than kFarSpreads, and than this share of the median. Never in a sample that is too small.
bool is_unusual(const Usual& usual, double value, double threshold);

}  // namespace nl::stats
