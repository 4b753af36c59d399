#pragma once
// Finds the point of a list (revisions, configurations, versions) at which something became slower, with as
// few runs as possible and an error budget for the whole search. The first point is good, the last is bad.
// Both are measured first, in turn, until it is shown that they differ; then the list is halved, each point
// measured in turn with the good one until stats::StepTest has decided. A point that cannot be built or run
// is left out and said. Every measured pair is kept in a file, so a search that was killed goes on from
// there. One thread; it knows nothing of git (see git_points.h).

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/described.h"
#include "base/known.h"
#include "base/result.h"
#include "stats/sample.h"
#include "stats/sequential.h"

namespace nl::lab {

struct BisectPoint {
  std::string id;    ///< stands for the point in the file of values: a whole commit, a text of a setting
  std::string name;  ///< for people
  static constexpr auto fields() {
    return std::tuple{field("id", &BisectPoint::id, "whole commit, or the setting"),
                      field("name", &BisectPoint::name, "for people, e.g. the first line of the commit")};
  }
};

/// What the search asks for. An absent value is the point's own fault: it is left out. An error ends the
/// search.
struct BisectCalls {
  /// Makes the point ready to be measured, while the good one stays ready. False or absent: it cannot be
  /// measured.
  std::function<Result<Known<bool>>(const BisectPoint&)> prepare;
  /// One process run: its time in any unit, above 0.
  std::function<Result<Known<double>>(const BisectPoint&)> measure;
};

struct BisectOptions {
  double error = 0.05;           ///< chance of a wrong culprit, over all steps
  uint64_t seed = 1;             ///< of the order inside the pairs
  int64_t most_pairs = 60;       ///< of the ends, and of each step
  std::string values_file = {};  ///< where pairs are kept; empty: nowhere
  std::string task = {};         ///< what is measured and how; pairs of another task are not used
  std::string machine = {};      ///< pairs of another machine are not used
};

enum class BisectStatus : uint8_t {
  kFound,         ///< one point
  kRange,         ///< one of several points: those between cannot be measured
  kNoDifference,  ///< the ends do not differ, as far as the runs show
  kBadIsFaster,   ///< the ends differ the other way
  kUndecided,     ///< a step was not decided with the most pairs
};
inline constexpr size_t kBisectStatuses = static_cast<size_t>(BisectStatus::kUndecided) + 1;
/// As in JSON: found, range, no_difference, bad_is_faster, undecided.
std::string_view bisect_status_name(BisectStatus status);

}  // namespace nl::lab

template <>
struct nl::DescribedAs<nl::lab::BisectStatus>
    : nl::DescribedEnum<nl::lab::BisectStatus, nl::lab::bisect_status_name, nl::lab::kBisectStatuses> {};

namespace nl::lab {

struct BisectStep {
  int64_t place = 0;
  BisectPoint point;
  stats::StepDecision decision = stats::StepDecision::kUndecided;
  double ratio = 1;
  double evidence = 0;
  double error = 0;
  int64_t kept_pairs = 0;
  std::vector<stats::TimePair> pairs;
  static constexpr auto fields() {
    using S = BisectStep;
    return std::tuple{
        field("place", &S::place, "in the list; the good end is 0"),
        field("point", &S::point),
        field("decision", &S::decision),
        field("ratio", &S::ratio, "typical ratio of the point's time to that of the good end"),
        field("evidence", &S::evidence,
              "natural logarithm of the likelihood ratio: above 0 for the whole change, below 0 for none"),
        field("error", &S::error, "part of the error budget that the step may spend"),
        field("kept_pairs", &S::kept_pairs, "of the pairs: measured by an earlier search"),
        field("pairs", &S::pairs, "in the order in which they were measured")};
  }
};

struct SkippedPoint {
  int64_t place = 0;
  BisectPoint point;
  std::string reason;
  static constexpr auto fields() {
    using S = SkippedPoint;
    return std::tuple{field("place", &S::place, "in the list; the good end is 0"), field("point", &S::point),
                      field("reason", &S::reason, "why it cannot be measured")};
  }
};

struct BisectAnswer {
  BisectStatus status = BisectStatus::kUndecided;
  int64_t points = 0;
  BisectPoint good;
  BisectPoint bad;
  std::vector<BisectPoint> suspects;
  std::optional<BisectPoint> before;
  std::optional<BisectPoint> after;
  double change = 1;
  std::optional<stats::Interval> change_interval;
  std::vector<stats::TimePair> ends;
  int64_t kept_end_pairs = 0;
  std::vector<BisectStep> steps;
  std::vector<SkippedPoint> skipped;
  int64_t runs = 0;
  int64_t kept_runs = 0;
  std::optional<int64_t> linear_runs;
  double error = 0;
  uint64_t seed = 0;
  std::vector<std::string> profiled_runs = {};
  std::string why = {};
  static constexpr auto fields() {
    using A = BisectAnswer;
    return std::tuple{
        field("status", &A::status),
        field("points", &A::points, "of the list, with both ends"),
        field("good", &A::good),
        field("bad", &A::bad),
        field("suspects", &A::suspects,
              "found: the point that brought the change; range: one of these did; undecided: what is left"),
        field("before", &A::before, "the last point that is as good as the good end; null if none is known"),
        field("after", &A::after, "the point behind the last suspect; null if it is the end of the list"),
        field("change", &A::change, "typical ratio of the bad end's time to that of the good end"),
        field("change_interval", &A::change_interval, "of the ends, 95 % or more; null with too few pairs"),
        field("ends", &A::ends, "pairs of the good end with the bad one"),
        field("kept_end_pairs", &A::kept_end_pairs, "of them: measured by an earlier search"),
        field("steps", &A::steps, "in the order in which they were decided"),
        field("skipped", &A::skipped, "points that could not be measured"),
        field("runs", &A::runs, "process runs that the answer rests on"),
        field("kept_runs", &A::kept_runs, "of them: measured by an earlier search"),
        field("linear_runs", &A::linear_runs,
              "runs that a search from point to point would have used up to the culprit: that many steps "
              "with the mean number of runs of these; null without a culprit or step"),
        field("error", &A::error, "chance of a wrong culprit, over all steps"),
        field("seed", &A::seed, "of the order inside the pairs"),
        field(
            "profiled_runs", &A::profiled_runs,
            "one of the point before the culprit and one of the culprit, recorded; empty without a culprit"),
        field("why", &A::why, "what the comparison of these two says; else empty")};
  }
};

/// bad_input: fewer than two points, two of the same id, options out of range. unavailable: an end of the
/// list cannot be measured. conflict: another search uses the file of values.
Result<BisectAnswer> bisect(const std::vector<BisectPoint>& points, const BisectCalls& calls,
                            const BisectOptions& options);

}  // namespace nl::lab
