#pragma once
// The answer of outliers as plain structs: what is unlike its peers in many runs of one kind. The operation
// fills them; the field descriptions give the JSON and the schema.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/described.h"
#include "compare/trend_answer.h"

namespace nl::compare {

/// What is held against its peers.
enum class OutlierKind : uint8_t { kRun, kClass, kLayer, kStep };
inline constexpr size_t kOutlierKinds = 4;
/// run, class, layer, step
std::string_view outlier_kind_name(OutlierKind kind);

struct Outlier {
  OutlierKind kind = OutlierKind::kRun;
  std::string run_id;
  std::string name;
  double value = 0;
  double usual = 0;
  size_t peers = 0;
  std::optional<double> ratio;
  std::optional<double> spreads;
  TrendMeaning meaning = TrendMeaning::kChanged;
  static constexpr auto fields() {
    using O = Outlier;
    return std::tuple{
        field("kind", &O::kind,
              "run: its figure, against the other runs; class and layer: time of the kernels of a class in a "
              "step, and of one call of a layer of the model, against the same in the other runs; step: its "
              "time, against the other steps of its run"),
        field("run_id", &O::run_id, "the run, or that of the step, class or layer"),
        field("name", &O::name, "figure, class, layer, or the step as a window: step:3"),
        field("value", &O::value, "of a run in the unit of the figure, else ns"),
        field("usual", &O::usual, "median of the peers, itself among them"),
        field("peers", &O::peers, "how many they are"),
        field("ratio", &O::ratio, "value divided by usual; null if that is 0"),
        field("spreads", &O::spreads,
              "distance to usual in spreads of the peers, 1.4826 times their median distance; null if more "
              "than half of them are equal"),
        field("meaning", &O::meaning, "whether it is worse than usual")};
  }
};

struct OutlierGroup {
  GroupValues group;
  int64_t runs = 0;
  double usual = 0;
  double spread = 0;
  std::string typical_run_id;
  std::map<std::string, int64_t> looked_at;
  std::vector<Outlier> outliers;
  int64_t not_shown = 0;
  std::optional<std::string> doubt;
  std::optional<std::string> silent;
  static constexpr auto fields() {
    using G = OutlierGroup;
    return std::tuple{
        field("group", &G::group, "value of each key of group_by; null where the runs have none"),
        field("runs", &G::runs, "runs with the figure"),
        field("usual", &G::usual, "median of the figure"),
        field("spread", &G::spread, "1.4826 times the median distance to it"),
        field("typical_run_id", &G::typical_run_id, "the run nearest to the median: what to compare with"),
        field("looked_at", &G::looked_at, "by kind: how many were held against enough peers"),
        field("outliers", &G::outliers, "runs first, then what is furthest from usual"),
        field("not_shown", &G::not_shown, "further ones"),
        field("doubt", &G::doubt, "why the runs may not be of one kind; null if nothing speaks against it"),
        field("silent", &G::silent, "why none is listed; null if one is")};
  }
};

struct Outliers {
  TrendFigure figure;
  std::vector<std::string> group_by;
  double threshold = 0;
  int64_t matching = 0;
  std::vector<OutlierGroup> groups;
  std::vector<TrendLeftOut> left_out;
  std::optional<std::string> silent;
  static constexpr auto fields() {
    using O = Outliers;
    return std::tuple{
        field("figure", &O::figure, "that runs are held against each other by"),
        field("group_by", &O::group_by, "keys that make the groups of peers"),
        field("threshold", &O::threshold, "smaller distances, as a share of usual, do not matter"),
        field("matching", &O::matching, "runs that match the conditions"),
        field("groups", &O::groups, "most runs first"),
        field("left_out", &O::left_out, "runs without the figure, by reason"),
        field("silent", &O::silent, "why nothing can be said at all; null if each group has its own answer")};
  }
};

}  // namespace nl::compare

namespace nl {

template <>
struct DescribedAs<compare::OutlierKind>
    : DescribedEnum<compare::OutlierKind, compare::outlier_kind_name, compare::kOutlierKinds> {};

}  // namespace nl
