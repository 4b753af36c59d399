#include "ops/runs/outliers.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/number_text.h"
#include "ops/runs/figure_reader.h"
#include "ops/runs/history_parameters.h"
#include "stats/usual.h"
#include "stats/warm_up.h"

namespace nl::ops {
namespace {

using compare::Outlier;
using compare::OutlierGroup;
using compare::OutlierKind;
using nlohmann::json;

// ---- What is read of a run

struct RunTimes {
  std::string run_id;
  double value = 0;  ///< of the figure
  Times classes;     ///< of a step
  Times layers;      ///< of one call
  std::vector<double> steps;
};

/// Mean of a call, over all devices.
Times layer_times(const json& measures) {
  std::map<std::string, std::pair<double, double>> sums;  // time, calls
  for (const json& device : measures["model_layers"]["devices"]) {
    for (const json& layer : device["layers"]) {
      auto& [ns, calls] =
          sums[fmt::format("{} {}", layer["stack"].get<std::string>(), layer["index"].get<int64_t>())];
      ns += layer["device_ns"].get<double>();
      calls += layer["calls"].get<double>();
    }
  }
  Times times;
  for (const auto& [name, sum] : sums) {
    if (sum.second > 0) times[name] = sum.first / sum.second;
  }
  return times;
}

// ---- One group

/// Runs of one kind that differ so much do not occur: they are of different kinds.
constexpr double kMostSpread = 0.5;

class GroupOutliers {
 public:
  GroupOutliers(const OutlierQuestion& question, const std::vector<RunTimes>& runs)
      : question_(question), runs_(runs) {
    std::vector<double> values;
    values.reserve(runs.size());
    for (const RunTimes& run : runs) values.push_back(run.value);
    usual_ = stats::usual_of(std::move(values));
    if (are_of_one_kind()) look_at_runs();
    for (const RunTimes& run : runs) look_at_steps(run);
  }

  /// Runs first; of the rest what takes most time beyond the usual, or least.
  void fill(OutlierGroup& out) {
    std::stable_sort(found_.begin(), found_.end(), [](const Outlier& a, const Outlier& b) {
      const bool a_is_run = a.kind == OutlierKind::kRun, b_is_run = b.kind == OutlierKind::kRun;
      if (a_is_run != b_is_run) return a_is_run;
      return std::abs(a.value - a.usual) > std::abs(b.value - b.usual);
    });
    const size_t shown = std::min(found_.size(), question_.top);
    out.runs = static_cast<int64_t>(runs_.size());
    out.usual = usual_.median;
    out.spread = usual_.spread;
    out.typical_run_id = typical_run();
    out.looked_at = looked_at_;
    out.not_shown = static_cast<int64_t>(found_.size() - shown);
    found_.resize(shown);
    out.outliers = std::move(found_);
    out.doubt = doubt(out.group);
    if (out.outliers.empty()) out.silent = why_silent();
  }

 private:
  /// What is usual says nothing about runs that have little in common.
  bool are_of_one_kind() const { return usual_.spread <= kMostSpread * std::abs(usual_.median); }

  void look_at_runs() {
    for (const RunTimes& run : runs_)
      look_at(OutlierKind::kRun, run, question_.figure.id(), run.value, usual_);
    look_at_all(OutlierKind::kClass, &RunTimes::classes);
    look_at_all(OutlierKind::kLayer, &RunTimes::layers);
  }

  void look_at(OutlierKind kind, const RunTimes& run, const std::string& name, double value,
               const stats::Usual& usual) {
    if (usual.n < stats::kLeastUsual) return;
    looked_at_[std::string(compare::outlier_kind_name(kind))]++;
    if (!stats::is_unusual(usual, value, question_.threshold)) return;
    Outlier one{kind, run.run_id, name, value, usual.median, usual.n, {}, {}, {}};
    if (usual.median != 0) one.ratio = value / usual.median;
    one.spreads = stats::spreads_from(usual, value);
    one.meaning = compare::trend_meaning(usual.median, value,
                                         kind == OutlierKind::kRun ? question_.figure.direction() : "lower");
    found_.push_back(std::move(one));
  }

  /// Each class or layer against the same one in the other runs.
  void look_at_all(OutlierKind kind, Times RunTimes::*times) {
    std::map<std::string, std::vector<double>> all;
    for (const RunTimes& run : runs_) {
      for (const auto& [name, ns] : run.*times) all[name].push_back(ns);
    }
    for (auto& [name, values] : all) {
      const stats::Usual usual = stats::usual_of(std::move(values));
      for (const RunTimes& run : runs_) {
        const auto one = (run.*times).find(name);
        if (one != (run.*times).end()) look_at(kind, run, name, one->second, usual);
      }
    }
  }

  /// Against the other steps of the run; slow ones at its begin are warm-up, which is no news.
  void look_at_steps(const RunTimes& run) {
    const auto warm_up = stats::find_warm_up(run.steps);
    const size_t first = warm_up ? warm_up->iterations : 0;
    const stats::Usual usual =
        stats::usual_of({run.steps.begin() + static_cast<ptrdiff_t>(first), run.steps.end()});
    for (size_t i = first; i < run.steps.size(); i++)
      look_at(OutlierKind::kStep, run, "step:" + std::to_string(i), run.steps[i], usual);
  }

  std::string typical_run() const {
    const auto distance = [&](const RunTimes& run) { return std::abs(run.value - usual_.median); };
    const auto nearest =
        std::min_element(runs_.begin(), runs_.end(), [&](const RunTimes& a, const RunTimes& b) {
          return std::pair(distance(a), a.run_id) < std::pair(distance(b), b.run_id);
        });
    return nearest->run_id;
  }

  std::optional<std::string> doubt(const compare::GroupValues& group) const {
    constexpr char kAdvice[] = "give runs of one kind the same labels, or choose other keys with group_by";
    if (!are_of_one_kind())
      return fmt::format(
          "the runs are not held against each other, since they differ by {} of the median: {}",
          percent_text(usual_.spread / std::abs(usual_.median)), kAdvice);
    for (const auto& [key, value] : group) {
      if (!value)
        return fmt::format("the runs have no {}, so they may be of different kinds: {}", key, kAdvice);
    }
    return std::nullopt;
  }

  std::string why_silent() const {
    if (looked_at_.empty())
      return fmt::format(
          "too little to say what is usual: {}, and no run with {} steps; {} runs or steps are enough",
          counted(static_cast<int64_t>(runs_.size()), "run"), stats::kLeastUsual, stats::kLeastUsual);
    return fmt::format("nothing is further from usual than {} spreads and {}", stats::kFarSpreads,
                       percent_text(question_.threshold));
  }

  const OutlierQuestion& question_;
  const std::vector<RunTimes>& runs_;
  stats::Usual usual_;
  std::map<std::string, int64_t> looked_at_;
  std::vector<Outlier> found_;
};

}  // namespace

Result<compare::Outliers> outliers_of(Context& context, store::Ledger& ledger,
                                      const OutlierQuestion& question) {
  NL_TRY(const History history, history_of(ledger, question.history));
  compare::Outliers out{.figure = {question.figure.id(), question.figure.unit(), question.figure.direction()},
                        .group_by = question.history.group_by,
                        .threshold = question.threshold,
                        .matching = history.matching,
                        .groups = {},
                        .left_out = {},
                        .silent = {}};
  FigureReader reader(context, ledger, history, question.figure, MeasureDetail::kAll);
  for (const RunGroupHistory& group : history.groups) {
    std::vector<RunTimes> runs;
    NL_CHECK(reader.read(group, [&](const store::RunRow& row, double value, const json& measures) {
      runs.push_back({row.run_id, value, class_times(measures), layer_times(measures),
                      measures["steps"].value("durations_ns", std::vector<double>())});
    }));
    if (runs.empty()) continue;
    out.groups.emplace_back().group = group_values(group, question.history.group_by);
    GroupOutliers(question, runs).fill(out.groups.back());
  }
  out.left_out = reader.left_out();
  if (history.matching == 0) {
    out.silent = "no run matches the conditions";
  } else if (out.groups.empty()) {
    out.silent = "no run has this figure";
  }
  return out;
}

}  // namespace nl::ops
