#pragma once
// What a machine can tell apart, from pairs of runs of the same thing (A/A): how far runs spread, whether
// they drift, how large a difference shows up where there is none, and how small an effect a number of runs
// finds. Values are never assumed to be normal: they are drawn again from what was measured, with a fixed
// seed. Pure function; any thread.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/described.h"
#include "base/result.h"
#include "stats/sample.h"

namespace nl::stats {

/// Two runs of the same thing, in the order in which they were measured.
struct SamePair {
  double first = 0;
  double second = 0;
};

/// With fewer pairs nothing is said.
inline constexpr size_t kLeastSamePairs = 8;

struct FloorOfRuns {
  int64_t runs = 0;
  double floor = 0;
  std::optional<double> detectable;
  static constexpr auto fields() {
    using F = FloorOfRuns;
    return std::tuple{
        field("runs", &F::runs, "runs a side"),
        field(
            "floor", &F::floor,
            "share: at least 95 of 100 comparisons of the same thing with itself show a smaller difference"),
        field("detectable", &F::detectable,
              "share: an effect so large is found in 4 of 5 cases; null if so few runs find none")};
  }
};

enum class Drift : uint8_t { kNone, kSlower, kFaster };
inline constexpr size_t kDrifts = static_cast<size_t>(Drift::kFaster) + 1;
/// As in JSON: none, slower, faster.
std::string_view drift_name(Drift drift);

}  // namespace nl::stats

template <>
struct nl::DescribedAs<nl::stats::Drift>
    : nl::DescribedEnum<nl::stats::Drift, nl::stats::drift_name, nl::stats::kDrifts> {};

namespace nl::stats {

struct NoiseFloor {
  int64_t pairs = 0;
  double spread = 0;
  double typical_spread = 0;
  int64_t outliers = 0;
  double second_to_first = 1;
  std::optional<Interval> second_to_first_interval;
  Drift drift = Drift::kNone;
  double drift_of_all = 0;
  double drift_p = 1;
  std::vector<FloorOfRuns> by_runs;
  static constexpr auto fields() {
    using N = NoiseFloor;
    return std::tuple{
        field("pairs", &N::pairs, "pairs of runs of the same thing"),
        field("spread", &N::spread, "share: standard deviation of the runs, with all outliers"),
        field("typical_spread", &N::typical_spread, "share: spread of most runs, which outliers do not move"),
        field("outliers", &N::outliers, "runs further than 5 typical spreads from the middle, none left out"),
        field("second_to_first", &N::second_to_first,
              "typical ratio of the second run of a pair to the first"),
        field("second_to_first_interval", &N::second_to_first_interval,
              "95 % or more; if 1 is outside, the place in a pair matters; null with too few pairs"),
        field("drift", &N::drift, "do runs become slower or faster while they are measured?"),
        field("drift_of_all", &N::drift_of_all, "share by which the typical run changes from begin to end"),
        field("drift_p", &N::drift_p, "of Kendall's test against a trend, two-sided"),
        field("by_runs", &N::by_runs, "what so many runs can tell apart")};
  }
};

/// bad_input: fewer than kLeastSamePairs pairs, or a value that is not finite and above 0.
Result<NoiseFloor> noise_floor(const std::vector<SamePair>& pairs);

}  // namespace nl::stats
