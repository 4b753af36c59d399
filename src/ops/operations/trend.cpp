#include "ops/runs/trend.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "ops/gate/share.h"
#include "ops/runs/run_names.h"
#include "ops/text/text.h"
#include "report/trend_plot.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false,
  "properties": {
    "metric": {"type": "string", "default": "step_time",
               "description": "step_time (median of the steps), or the id of a metric of the busiest device, e.g. total_time"},
    "kernel": {"type": "string", "description": "instead of a metric: time of kernels whose name has this part, per step, or of the capture where a run marks no steps"},
    "class": {"type": "string", "description": "instead of a metric: time of a class of kernels, e.g. gemm, in the same way"},
    "group_by": {"type": "string", "default": "model,device",
                 "description": "one series for each value of these labels or fields (device, backend, format), divided by commas"},
    "where": {"type": "array", "items": {"type": "string"},
              "description": "key=value and the like, as for runs; may be repeated"},
    "tag": {"type": "array", "items": {"type": "string"}, "description": "only runs with this tag; may be repeated"},
    "order": {"type": "string", "default": "auto",
              "description": "imported, or a label that grows with time; auto: commit_date, commit_time or date if all runs have it, else imported"},
    "threshold": {"type": "string", "default": "1%", "description": "changes of the level below it do not matter"},
    "persistence": {"type": "integer", "minimum": 2, "maximum": 1000, "default": 2,
                    "description": "runs that must have the new level before it is an alert"},
    "limit": {"type": "integer", "minimum": 1, "maximum": 100000, "default": 10000, "description": "newest runs to look at"},
    "svg": {"type": "string", "x-host-path": true, "x-effect": "write", "description": "write a picture to this file"}
  }})";

constexpr char kResult[] = R"({
  "type": "object",
  "required": ["figure", "order", "group_by", "matching", "without_order", "alerts", "groups", "left_out"],
  "properties": {
    "figure": {"type": "object", "required": ["id", "unit", "direction"]},
    "order": {"type": "string", "description": "imported, or the label that the runs are ordered by"},
    "alerts": {"type": "integer"},
    "groups": {"type": "array", "items": {"type": "object", "required": ["group", "summary", "points", "change_points"],
      "properties": {
        "points": {"type": "array", "items": {"type": "object", "required": ["run_id", "imported_at_ns", "value"]}},
        "change_points": {"type": "array", "items": {"type": "object",
          "required": ["at", "run_id", "previous_run_id", "imported_at_ns", "before", "after", "ratio", "p", "alert",
                       "meaning", "differences", "work"],
          "properties": {"meaning": {"enum": ["worse", "better", "changed"]},
            "differences": {"type": "array", "items": {"type": "object", "required": ["what", "lasts"]},
              "description": "from the run before; lasts: three runs on each side differ in it, too"},
            "work": {"description": "kernels and classes whose time per step moved most, from runs on both sides"}}}}}}},
    "left_out": {"type": "array", "items": {"type": "object", "required": ["reason", "runs"]}},
    "svg": {"type": "string"}}})";

std::vector<std::string> divided(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t from = 0; from <= text.size();) {
    const size_t comma = std::min(text.find(',', from), text.size());
    if (comma > from) parts.push_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  return parts;
}

Result<RunFigure> figure_of(const json& parameters) {
  const int asked =
      static_cast<int>(parameters.contains("kernel")) + static_cast<int>(parameters.contains("class"));
  if (asked > 1) return Error{ErrorCode::kBadInput, "a trend is of one thing: --metric, --kernel or --class"};
  if (parameters.contains("kernel")) return RunFigure::kernels(parameters["kernel"]);
  if (parameters.contains("class")) return RunFigure::op_class(parameters["class"]);
  return RunFigure::metric(parameters["metric"]);
}

Result<HistoryQuestion> history_question(const json& parameters) {
  HistoryQuestion question;
  for (const auto& text : parameters.value("where", std::vector<std::string>())) {
    NL_TRY(auto condition, store::parse_condition(text));
    question.where.push_back(std::move(condition));
  }
  for (const auto& tag : parameters.value("tag", std::vector<std::string>())) {
    question.where.push_back({"tag", store::Comparison::kEqual, tag});
  }
  question.group_by = divided(parameters["group_by"]);
  question.order = parameters["order"];
  question.limit = parameters["limit"];
  return question;
}

Result<TrendQuestion> trend_question(const json& parameters) {
  NL_TRY(auto history, history_question(parameters));
  NL_TRY(auto figure, figure_of(parameters));
  NL_TRY(const double threshold, parse_share("--threshold", parameters["threshold"]));
  stats::ChangePointOptions options;
  options.min_magnitude = threshold;
  options.persistence = parameters["persistence"];
  return TrendQuestion{std::move(history), std::move(figure), options};
}

/// The change to look at next: the newest alert.
void add_next(Outcome& outcome) {
  const json* newest = nullptr;
  for (const json& group : outcome.data["groups"]) {
    for (const json& change : group["change_points"]) {
      const bool later = newest == nullptr || change["imported_at_ns"] > (*newest)["imported_at_ns"];
      if (change["alert"].get<bool>() && later) newest = &change;
    }
  }
  if (newest == nullptr) return;
  outcome.next.push_back(suggested(
      "compare", {{"runs", {short_id((*newest)["previous_run_id"]), short_id((*newest)["run_id"])}}}));
}

Result<Outcome> run(Context& context, const json& parameters) {
  NL_TRY(const auto question, trend_question(parameters));
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  Outcome outcome;
  NL_TRY(outcome.data, trend_of(context, ledger, question));
  if (const int64_t runs = outcome.data["without_order"]; runs > 0) {
    outcome.warnings.push_back(fmt::format("left out, without {}: {}",
                                           outcome.data["order"].get<std::string>(), counted(runs, "run")));
  }
  for (const json& left : outcome.data["left_out"]) {
    outcome.warnings.push_back(
        fmt::format("left out, {}: {}", left["reason"].get<std::string>(), counted(left["runs"], "run")));
  }
  if (parameters.contains("svg")) {
    NL_CHECK(replace_file(parameters["svg"], report::trend_plot(outcome.data)));
    outcome.data["svg"] = parameters["svg"];
  }
  add_next(outcome);
  return outcome;
}

// ---- Text

std::string value_text(double value, const std::string& unit) {
  if (unit == "ns") return duration_text(std::llround(value));
  if (unit == "B") return bytes_text(std::llround(value));
  if (unit == "ratio") return percent_text(value);
  return fmt::format("{:.5g} {}", value, unit);
}

/// Means of as many stretches as there is room for.
std::vector<double> condensed(const json& points, size_t room) {
  std::vector<double> values;
  const size_t columns = std::min(points.size(), room);
  for (size_t c = 0; c < columns; c++) {
    const size_t from = c * points.size() / columns, to = (c + 1) * points.size() / columns;
    double sum = 0;
    for (size_t i = from; i < to; i++) sum += points[i]["value"].get<double>();
    values.push_back(sum / static_cast<double>(to - from));
  }
  return values;
}

std::string sparkline(const json& points, size_t room) {
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

std::string title_of(const json& group) {
  std::string title;
  for (const auto& [key, value] : group["group"].items()) {
    title += (title.empty() ? "" : ", ") + (value.is_null() ? "no " + key : value.get<std::string>());
  }
  return title.empty() ? "all runs" : title;
}

std::string signed_share(const json& ratio) {
  if (ratio.is_null()) return "from nothing";
  const double share = ratio.get<double>() - 1;
  return (share > 0 ? "+" : "") + percent_text(share);
}

std::string work_text(const json& work) {
  std::string out;
  for (const json& row : work) {
    const int64_t delta = row["delta_ns"];
    out += fmt::format("      {} {} → {} ({}{})  {}\n", row["kind"].get<std::string>(),
                       duration_text(row["before_ns"]), duration_text(row["after_ns"]), delta > 0 ? "+" : "-",
                       duration_text(std::abs(delta)), shortened(row["name"].get<std::string>(), 60));
    if (std::count(out.begin(), out.end(), '\n') == 4) break;
  }
  return out.empty() ? out : "    time per step:\n" + out;
}

std::string change_text(const json& change, const std::string& unit, const TextStyle& style) {
  const std::string what =
      change["alert"].get<bool>() ? change["meaning"].get<std::string>() : "not yet sure";
  std::string out = fmt::format("  {} since run {} ({}): {} → {} ({}), p {:.2g}\n",
                                change["alert"].get<bool>() ? bold(what, style) : dim(what, style),
                                short_id(change["run_id"]), time_text(change["imported_at_ns"]),
                                value_text(change["before"], unit), value_text(change["after"], unit),
                                signed_share(change["ratio"]), change["p"].get<double>());
  if (change["differences"].empty()) out += dim("    nothing known differs from the run before\n", style);
  const auto room = static_cast<size_t>(std::max(style.width, 60)) - 4;
  for (const json& difference : change["differences"]) {
    const std::string one = shortened(difference["what"].get<std::string>(), room);
    out += "    " +
           (difference["lasts"].get<bool>() ? one : dim(one + " (not in all runs around it)", style)) + "\n";
  }
  return out + (change["work"].is_array() ? work_text(change["work"]) : "");
}

std::string group_text(const json& group, const std::string& unit, const TextStyle& style) {
  const json& points = group["points"];
  const auto room = static_cast<size_t>(std::clamp(style.width - 50, 20, 80));
  std::string out = bold(title_of(group), style) + "\n  " + sparkline(points, room);
  out += fmt::format("  {}, {} → {}\n", counted(static_cast<int64_t>(points.size()), "run"),
                     value_text(points.front()["value"], unit), value_text(points.back()["value"], unit));
  for (const json& change : group["change_points"]) out += change_text(change, unit, style);
  return out;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  constexpr size_t kShown = 20;
  const json& data = outcome.data;
  if (data["groups"].empty()) return "No run has this figure.\n";
  const std::string order = data["order"];
  std::string out = fmt::format("{}, runs in the order of {}\n", data["figure"]["id"].get<std::string>(),
                                order == "imported" ? "their import" : order);
  size_t shown = 0;
  for (const json& group : data["groups"]) {
    if (shown++ == kShown) break;
    out += "\n" + group_text(group, data["figure"]["unit"], style);
  }
  if (data["groups"].size() > kShown) {
    out += dim(fmt::format("\n{}: --json, or fewer keys in --group-by\n",
                           counted(static_cast<int64_t>(data["groups"].size() - kShown), "more group")),
               style);
  }
  return out;
}

}  // namespace

const Operation& operation_trend() {
  static constexpr Operation kOperation{
      .name = "trend",
      .summary = "Show how a figure changed over the runs of the ledger, where, and what else changed there",
      .use_when = "you have a history of runs and ask since when it is slower, and why",
      .not_when = "you have two sets of runs: compare",
      .example = R"({"metric": "step_time", "group_by": "model,device", "where": ["precision=fp16"]})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = true, .mcp = true},
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops
