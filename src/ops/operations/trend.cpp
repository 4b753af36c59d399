#include "ops/runs/trend.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "base/text.h"
#include "ops/gate/share.h"
#include "ops/runs/history_parameters.h"
#include "ops/runs/run_names.h"
#include "ops/text/figure_text.h"
#include "ops/text/text.h"
#include "report/compare_words.h"
#include "report/trend_plot.h"

namespace nl::ops::trend_operation {
namespace {

using compare::Trend;
using compare::TrendChange;
using compare::TrendGroup;
using compare::TrendPoint;
using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false,
  "properties": {
    "metric": {"type": "string", "default": "step_time",
               "description": "step_time (median of the steps), or the id of a metric of the busiest device, e.g. total_time"},
    "kernel": {"x-rare": true, "type": "string", "description": "instead of a metric: time per step of kernels whose name contains this; of the whole capture if a run marks no steps"},
    "class": {"x-rare": true, "type": "string", "description": "instead of a metric: the same for a class of kernels, e.g. gemm"},
    "group_by": {"x-rare": true, "type": "string", "default": "model,device",
                 "description": "one series for each value of these labels or fields (device, backend, format), separated by commas"},
    "where": {"type": "array", "items": {"type": "string"},
              "description": "condition such as key=value, as for runs; may be repeated"},
    "tag": {"x-rare": true, "type": "array", "items": {"type": "string"}, "description": "only runs with this tag; may be repeated"},
    "order": {"x-rare": true, "type": "string", "default": "auto",
              "description": "order of the runs: imported, or a label that grows with time; auto: commit_date, commit_time or date if all runs have it, else imported"},
    "threshold": {"x-rare": true, "type": "string", "default": "1%", "description": "smaller changes of the level do not matter"},
    "persistence": {"x-rare": true, "type": "integer", "minimum": 2, "maximum": 1000, "default": 2,
                    "description": "number of runs at the new level that makes it an alert"},
    "limit": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 100000, "default": 10000, "description": "number of newest runs to look at"},
    "svg": {"type": "string", "x-host-path": true, "x-effect": "write", "description": "write a picture to this file"}
  }})";

/// Of a series the oldest points go first; where it changed stays longest.
constexpr Cut kCuts[] = {{"/groups/*/points", 0, kOldestFirst},
                         {"/groups", 3},
                         {"/left_out"},
                         {"/groups/*/change_points", 1, kOldestFirst},
                         {"/groups"}};

Result<TrendQuestion> trend_question(const json& parameters) {
  NL_TRY(auto history, history_asked(parameters));
  NL_TRY(auto figure, figure_asked(parameters));
  NL_TRY(const double threshold, parse_share("--threshold", parameters["threshold"]));
  stats::ChangePointOptions options;
  options.min_magnitude = threshold;
  options.persistence = parameters["persistence"];
  options.separated = true;
  return TrendQuestion{std::move(history), std::move(figure), options};
}

/// The change to look at next: the newest alert.
void add_next(Outcome& outcome, const Trend& trend) {
  const TrendChange* newest = nullptr;
  for (const TrendGroup& group : trend.groups) {
    for (const TrendChange& change : group.change_points) {
      const bool later = newest == nullptr || change.imported_at_ns > newest->imported_at_ns;
      if (change.alert && later) newest = &change;
    }
  }
  if (newest == nullptr) return;
  outcome.next.push_back(
      suggested("compare", {{"runs", {short_id(newest->previous_run_id), short_id(newest->run_id)}}}));
}

Result<Outcome> run(Context& context, const json& parameters) {
  NL_TRY(const auto question, trend_question(parameters));
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  NL_TRY(Trend trend, trend_of(context, ledger, question));
  if (parameters.contains("svg")) {
    trend.svg = parameters["svg"].get<std::string>();
    NL_CHECK(replace_file(*trend.svg, report::trend_plot(trend)));
  }
  Outcome outcome = answered(trend);
  if (trend.without_order > 0) {
    outcome.warnings.push_back(
        fmt::format("left out, without {}: {}", trend.order, counted(trend.without_order, "run")));
  }
  for (const auto& left : trend.left_out) {
    outcome.warnings.push_back(fmt::format("left out, {}: {}", left.reason, counted(left.runs, "run")));
  }
  add_next(outcome, trend);
  return outcome;
}

// ---- Text

/// Means of as many stretches as there is room for.
std::vector<double> condensed(const std::vector<TrendPoint>& points, size_t room) {
  std::vector<double> values;
  const size_t columns = std::min(points.size(), room);
  for (size_t c = 0; c < columns; c++) {
    const size_t from = c * points.size() / columns, to = (c + 1) * points.size() / columns;
    double sum = 0;
    for (size_t i = from; i < to; i++) sum += points[i].value;
    values.push_back(sum / static_cast<double>(to - from));
  }
  return values;
}

std::string sparkline(const std::vector<TrendPoint>& points, size_t room) {
  static constexpr const char* kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::vector<double> values = condensed(points, room);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  std::string out;
  for (const double value : values) {
    const double share = *high > *low ? (value - *low) / (*high - *low) : 0;
    const auto step = static_cast<size_t>(std::min(7.0, share * 8));
    out += kBlocks[step];
  }
  return out;
}

std::string signed_share(std::optional<double> ratio) {
  if (!ratio) return "from nothing";
  return (*ratio > 1 ? "+" : "") + percent_text(*ratio - 1);
}

std::string work_text(const std::vector<compare::TrendWork>& work) {
  constexpr size_t kMostRows = 4;
  std::string out;
  for (size_t i = 0; i < std::min(work.size(), kMostRows); i++) {
    const auto& row = work[i];
    out += fmt::format("      {} {} → {} ({}{})  {}\n", row.kind, duration_text(row.before_ns),
                       duration_text(row.after_ns), row.delta_ns > 0 ? "+" : "-",
                       duration_text(std::abs(row.delta_ns)), shortened(row.name, 60));
  }
  return out.empty() ? out : "    time per step:\n" + out;
}

std::string change_text(const TrendChange& change, const std::string& unit, const TextStyle& style) {
  const std::string what =
      change.alert ? std::string(compare::trend_meaning_name(change.meaning)) : "not yet sure";
  std::string out = fmt::format("  {} since run {} ({}): {} → {} ({}), p {:.2g}\n",
                                change.alert ? bold(what, style) : dim(what, style), short_id(change.run_id),
                                time_text(change.imported_at_ns), figure_text(change.before, unit),
                                figure_text(change.after, unit), signed_share(change.ratio), change.p);
  if (change.differences.empty()) out += dim("    nothing known differs from the run before\n", style);
  const auto room = static_cast<size_t>(std::max(style.width, 60)) - 4;
  for (const auto& difference : change.differences) {
    const std::string one = shortened(difference.what, room);
    out += "    " + (difference.lasts ? one : dim(one + " (not in all runs around it)", style)) + "\n";
  }
  return out + (change.work ? work_text(*change.work) : "");
}

std::string group_text(const TrendGroup& group, const std::string& unit, const TextStyle& style) {
  const auto& points = group.points;
  const auto room = static_cast<size_t>(std::clamp(style.width - 50, 20, 80));
  std::string out = bold(compare::group_title(group.group, ", "), style) + "\n  " + sparkline(points, room);
  out += fmt::format("  {}, {} → {}\n", counted(static_cast<int64_t>(points.size()), "run"),
                     figure_text(points.front().value, unit), figure_text(points.back().value, unit));
  for (const TrendChange& change : group.change_points) out += change_text(change, unit, style);
  if (group.silent) out += "  " + behind_column(*group.silent, 2, style) + "\n";
  return out;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  constexpr size_t kShown = 20;
  const auto& trend = answer_of<Trend>(outcome);
  std::string silent = trend.silent ? report::sentence(*trend.silent) + ".\n" : "";
  if (trend.groups.empty()) return silent;
  std::string out = fmt::format("{}, runs in the order of {}\n", trend.figure.id,
                                trend.order == "imported" ? "their import" : trend.order);
  for (size_t i = 0; i < std::min(trend.groups.size(), kShown); i++)
    out += "\n" + group_text(trend.groups[i], trend.figure.unit, style);
  if (trend.groups.size() > kShown) {
    out += dim(fmt::format("\n{}: --json, or fewer keys in --group-by\n",
                           counted(static_cast<int64_t>(trend.groups.size() - kShown), "more group")),
               style);
  }
  return silent.empty() ? out : out + "\n" + behind_column(silent, 0, style);
}

std::string conclusion(const Outcome& outcome) {
  const nlohmann::json& data = outcome.data;
  if (data.at("silent").is_string()) return data.at("silent").get<std::string>();
  const auto alerts = data.at("alerts").get<int64_t>();
  const std::string figure = data.at("figure").at("id").get<std::string>();
  if (alerts == 0) return fmt::format("no lasting change of {}", figure);
  return fmt::format("{} lasting change{} of {}", alerts, alerts == 1 ? "" : "s", figure);
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "trend",
      .summary =
          "History of a metric over many runs: since when is it worse, and at which commit or date did it "
          "change",
      .use_when =
          "you ask when latency grew or throughput of a model dropped, whether it drifts or creeps up over "
          "nightly runs, days, weeks or months, or want to plot or chart its evolution over time and find "
          "the change point",
      .not_when = "you have two runs: compare",
      .example = R"({"metric": "step_time", "group_by": "model,device", "where": ["precision=fp16"]})",
      .parameters = kParameters,
      .result = schema_text<Trend>,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = true, .mcp = true},
      .cuts = kCuts,
      .run = run,
      .text = text,
      .conclusion = conclusion,
  };
  return kOperation;
}

}  // namespace nl::ops::trend_operation
