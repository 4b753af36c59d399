#include "ops/runs/outliers.h"

#include <fmt/core.h>

#include <algorithm>

#include "ops/gate/share.h"
#include "ops/runs/history_parameters.h"
#include "ops/runs/run_names.h"
#include "ops/text/figure_text.h"
#include "ops/text/text.h"
#include "report/compare_words.h"

namespace nl::ops::outliers_operation {
namespace {

using compare::Outlier;
using compare::OutlierGroup;
using compare::OutlierKind;
using compare::Outliers;
using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false,
  "properties": {
    "metric": {"type": "string", "default": "step_time",
               "description": "figure of the runs: step_time (median of the steps), or the id of a metric of the busiest device, e.g. total_time"},
    "group_by": {"x-rare": true, "type": "string", "default": "model,device",
                 "description": "peers have the same value of these labels or fields (device, backend, format), separated by commas"},
    "where": {"type": "array", "items": {"type": "string"},
              "description": "condition such as key=value, as for runs; may be repeated"},
    "tag": {"x-rare": true, "type": "array", "items": {"type": "string"}, "description": "only runs with this tag; may be repeated"},
    "threshold": {"x-rare": true, "type": "string", "default": "5%", "description": "smaller distances to what is usual do not matter"},
    "top": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 10000, "default": 20, "description": "number of outliers to list for each group"},
    "limit": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 10000, "default": 1000, "description": "number of newest runs to look at"}
  }})";

constexpr Cut kCuts[] = {{"/groups/*/outliers", 1}, {"/left_out"}, {"/groups"}};

/// The first run that is worse than usual, beside the most typical one.
void add_next(Outcome& outcome, const Outliers& answer) {
  for (const OutlierGroup& group : answer.groups) {
    for (const Outlier& one : group.outliers) {
      if (one.kind != OutlierKind::kRun || one.meaning == compare::TrendMeaning::kBetter) continue;
      outcome.next.push_back(
          suggested("compare", {{"runs", {short_id(group.typical_run_id), short_id(one.run_id)}}}));
      return;
    }
    for (const Outlier& one : group.outliers) {
      if (one.kind != OutlierKind::kStep) continue;
      outcome.next.push_back(suggested("analyze", {{"run", short_id(one.run_id)}, {"window", one.name}}));
      return;
    }
  }
}

Result<Outcome> run(Context& context, const json& parameters) {
  NL_TRY(auto history, history_asked(parameters));
  NL_TRY(auto figure, figure_asked(parameters));
  NL_TRY(const double threshold, parse_share("--threshold", parameters["threshold"]));
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  const OutlierQuestion question{std::move(history), std::move(figure), threshold, parameters["top"]};
  NL_TRY(const Outliers answer, outliers_of(context, ledger, question));
  Outcome outcome = answered(answer);
  for (const auto& left : answer.left_out)
    outcome.warnings.push_back(fmt::format("left out, {}: {}", left.reason, counted(left.runs, "run")));
  add_next(outcome, answer);
  return outcome;
}

// ---- Text

std::string peers_text(const Outlier& one) {
  const auto n = static_cast<int64_t>(one.peers);
  return one.kind == OutlierKind::kStep ? counted(n, "step") + " of its run" : counted(n, "run");
}

std::string outlier_text(const Outlier& one, const std::string& unit, const TextStyle& style) {
  const std::string& of = one.kind == OutlierKind::kRun ? unit : "ns";
  std::string out = fmt::format("  {:<6} {}  {}", std::string(compare::outlier_kind_name(one.kind)),
                                bold(short_id(one.run_id), style), figure_text(one.value, of));
  if (one.ratio) out += fmt::format(", {:.{}f} x", *one.ratio, *one.ratio < 100 ? 2 : 0);
  out += fmt::format(" what is usual ({}, {})", figure_text(one.usual, of), peers_text(one));
  return one.kind == OutlierKind::kRun ? out + "\n" : out + "  " + shortened(one.name, 50) + "\n";
}

std::string group_text(const OutlierGroup& group, const std::string& unit, const TextStyle& style) {
  std::string out = bold(compare::group_title(group.group, ", "), style);
  out += fmt::format("\n  {}, usually {}\n", counted(group.runs, "run"), figure_text(group.usual, unit));
  if (group.doubt) out += "  " + behind_column(*group.doubt, 2, style) + "\n";
  for (const Outlier& one : group.outliers) out += outlier_text(one, unit, style);
  if (group.not_shown > 0) out += dim(fmt::format("  {} more: --top\n", group.not_shown), style);
  if (group.silent) out += "  " + behind_column(*group.silent, 2, style) + "\n";
  return out;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  constexpr size_t kShown = 12;
  const auto& answer = answer_of<Outliers>(outcome);
  if (answer.silent) return report::sentence(*answer.silent) + ".\n";
  std::string out = fmt::format("{}, each run against its peers\n", answer.figure.id);
  for (size_t i = 0; i < std::min(answer.groups.size(), kShown); i++)
    out += "\n" + group_text(answer.groups[i], answer.figure.unit, style);
  if (answer.groups.size() > kShown) {
    out += dim(fmt::format("\n{}: --json, or fewer keys in --group-by\n",
                           counted(static_cast<int64_t>(answer.groups.size() - kShown), "more group")),
               style);
  }
  return out;
}

std::string conclusion(const Outcome& outcome) {
  const nlohmann::json& data = outcome.data;
  if (data.at("silent").is_string()) return data.at("silent").get<std::string>();
  size_t found = 0;
  for (const nlohmann::json& group : data.at("groups")) found += group.at("outliers").size();
  const std::string figure = data.at("figure").at("id").get<std::string>();
  if (found == 0) return fmt::format("nothing is unlike its peers, by {}", figure);
  return fmt::format("{} unlike {} peers, by {}",
                     found == 1 ? "one run or part is" : std::to_string(found) + " runs or parts are",
                     found == 1 ? "its" : "their", figure);
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "outliers",
      .summary = "Find odd, anomalous runs, steps, layers and machines among many that should be alike",
      .use_when =
          "you look for anomalies, ask which runs, nodes or hosts are unusual, strange or suspicious, stand "
          "out, differ or deviate from the others, their peers, the rest",
      .not_when = "you have two runs: compare",
      .example = R"({"group_by": "model,device", "where": ["precision=fp16"]})",
      .parameters = kParameters,
      .result = schema_text<Outliers>,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = true, .mcp = true},
      .cuts = kCuts,
      .run = run,
      .text = text,
      .conclusion = conclusion,
  };
  return kOperation;
}

}  // namespace nl::ops::outliers_operation
