#pragma once
// The answer of a trend as plain structs: one figure over the history of runs. The operation fills them; its
// text and its picture show them. The field descriptions give the JSON and the schema.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/described.h"

namespace nl::compare {

enum class TrendMeaning : uint8_t { kWorse, kBetter, kChanged };
/// worse, better, changed
std::string_view trend_meaning_name(TrendMeaning meaning);
/// Of a figure that was `before` and is `after`; `better`: lower, higher or none.
TrendMeaning trend_meaning(double before, double after, std::string_view better);

struct TrendFigure {
  std::string id;
  std::string unit;
  std::string direction;
  static constexpr auto fields() {
    using S = TrendFigure;
    return std::tuple{field("id", &S::id, "the metric, or the kernels or class that were asked for"),
                      field("unit", &S::unit, "of the values"),
                      field("direction", &S::direction, "better: lower, higher or none")};
  }
};

struct TrendPoint {
  std::string run_id;
  int64_t imported_at_ns = 0;
  double value = 0;
  static constexpr auto fields() {
    using S = TrendPoint;
    return std::tuple{field("run_id", &S::run_id, "id of the run"),
                      field("imported_at_ns", &S::imported_at_ns, "since 1970, UTC"),
                      field("value", &S::value, "of the figure")};
  }
};

/// Something that the runs say of themselves and that is another on both sides of a change.
struct TrendDifference {
  std::string what;
  bool lasts = false;
  static constexpr auto fields() {
    return std::tuple{field("what", &TrendDifference::what, "key: before → after"),
                      field("lasts", &TrendDifference::lasts, "three runs on each side also differ in it")};
  }
};

/// A kernel or a class whose time moved.
struct TrendWork {
  std::string kind;
  std::string name;
  int64_t before_ns = 0, after_ns = 0, delta_ns = 0;
  static constexpr auto fields() {
    using S = TrendWork;
    return std::tuple{field("kind", &S::kind, "kernel or class"),
                      field("name", &S::name, "of the kernel or class"),
                      field("before_ns", &S::before_ns, "per step, median of some runs"),
                      field("after_ns", &S::after_ns, "per step, median of some runs"),
                      field("delta_ns", &S::delta_ns, "after minus before")};
  }
};

struct TrendChange {
  size_t at = 0;
  std::string run_id;
  std::string previous_run_id;
  int64_t imported_at_ns = 0;
  double before = 0, after = 0;
  std::optional<double> ratio;
  double p = 1;
  bool alert = false;
  TrendMeaning meaning = TrendMeaning::kChanged;
  std::vector<TrendDifference> differences;
  std::optional<std::vector<TrendWork>> work;
  static constexpr auto fields() {
    using S = TrendChange;
    return std::tuple{
        field("at", &S::at, "index of the first point of the new level"),
        field("run_id", &S::run_id, "the first run of the new level"),
        field("previous_run_id", &S::previous_run_id, "the last run of the level before"),
        field("imported_at_ns", &S::imported_at_ns, "of the first run of the new level"),
        field("before", &S::before, "median of the level before"),
        field("after", &S::after, "median of the new level"),
        field("ratio", &S::ratio, "after divided by before; null if it was 0 before"),
        field("p", &S::p, "p of the test that found the change"),
        field("alert", &S::alert, "it has lasted for enough runs"),
        field("meaning", &S::meaning, "whether the new level is worse"),
        field("differences", &S::differences, "what changed from the run before; lasting changes first"),
        field("work", &S::work,
              "kernels and classes whose time per step changed most, from runs on both sides; null if not "
              "computed")};
  }
};

struct TrendSummary {
  size_t n = 0;
  double min = 0, median = 0, max = 0;
  static constexpr auto fields() {
    using S = TrendSummary;
    return std::tuple{field("n", &S::n, "runs"), field("min", &S::min, "least value"),
                      field("median", &S::median, "middle value"), field("max", &S::max, "largest value")};
  }
};

/// Values of the keys that make a group; null where its runs have none.
using GroupValues = std::map<std::string, std::optional<std::string>>;
/// What the runs of a group have in common: "bert, H100".
std::string group_title(const GroupValues& group, std::string_view between);

struct TrendGroup {
  GroupValues group;
  TrendSummary summary;
  std::vector<TrendPoint> points;
  std::vector<TrendChange> change_points;
  std::optional<std::string> silent;
  static constexpr auto fields() {
    using S = TrendGroup;
    return std::tuple{
        field("group", &S::group, "value of each key of group_by; null where the runs have none"),
        field("summary", &S::summary, "of the values of its runs"),
        field("points", &S::points, "in the order of time"),
        field("change_points", &S::change_points, "where the level changed"),
        field("silent", &S::silent, "why no change is listed; null if one is")};
  }
};

struct TrendLeftOut {
  std::string reason;
  int64_t runs = 0;
  static constexpr auto fields() {
    return std::tuple{field("reason", &TrendLeftOut::reason, "why"),
                      field("runs", &TrendLeftOut::runs, "how many")};
  }
};

struct Trend {
  TrendFigure figure;
  std::string order;
  std::vector<std::string> group_by;
  int64_t matching = 0;
  int64_t without_order = 0;
  size_t alerts = 0;
  std::vector<TrendGroup> groups;
  std::vector<TrendLeftOut> left_out;
  std::optional<std::string> silent;
  std::optional<std::string> svg;
  static constexpr auto fields() {
    using S = Trend;
    return std::tuple{
        field("figure", &S::figure, "what is looked at"),
        field("order", &S::order, "imported, or the label that the runs are ordered by"),
        field("group_by", &S::group_by, "keys that make the groups"),
        field("matching", &S::matching, "runs that match the conditions"),
        field("without_order", &S::without_order, "of these, runs without the label that gives the order"),
        field("alerts", &S::alerts, "changes of the level that have lasted"),
        field("groups", &S::groups, "one series each"),
        field("left_out", &S::left_out, "runs without the figure, by reason"),
        field("silent", &S::silent,
              "why nothing can be said about the runs as a whole; null if each group has its own answer"),
        field_if_any("svg", &S::svg, "file of the picture")};
  }
};

}  // namespace nl::compare

namespace nl {

template <>
struct DescribedAs<compare::TrendMeaning>
    : DescribedEnum<compare::TrendMeaning, compare::trend_meaning_name, 3> {};

}  // namespace nl
