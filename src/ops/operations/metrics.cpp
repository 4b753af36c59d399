#include <fmt/core.h>

#include "analyze/metrics/metric.h"
#include "analyze/time/idle.h"
#include "ops/text/text.h"

namespace nl::ops::metrics_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false,
  "properties": {
    "name": {"type": "string", "x-positional": 1, "description": "a metric, or part of its id; without it: all metrics"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["metrics"],
  "properties": {"metrics": {"type": "array", "items": {"type": "object",
    "required": ["id", "version", "section", "name", "unit", "direction", "of", "formula", "source"]}},
    "classes": {"type": "array"}, "idle_causes": {"type": "array"}}})";

constexpr Cut kCuts[] = {{"/classes"}, {"/idle_causes"}, {"/metrics"}};

json metric_json(const analyze::MetricInfo& info) {
  return {{"id", info.id},     {"version", info.version}, {"section", info.section},
          {"name", info.name}, {"unit", info.unit},       {"direction", info.direction},
          {"of", info.of},     {"formula", info.formula}, {"source", info.source}};
}

json classes_json() {
  json classes = json::array();
  for (size_t i = 0; i < analyze::kOpClasses; i++) {
    const auto op_class = static_cast<analyze::OpClass>(i);
    classes.push_back({{"name", analyze::op_class_name(op_class)}, {"doc", analyze::op_class_doc(op_class)}});
  }
  return classes;
}

json idle_causes_json() {
  json causes = json::array();
  for (size_t i = 0; i < analyze::kIdleCauses; i++) {
    const auto cause = static_cast<analyze::IdleCause>(i);
    causes.push_back({{"name", analyze::idle_cause_name(cause)},
                      {"metric", analyze::metric_info(analyze::idle_metric(cause)).id},
                      {"doc", analyze::idle_cause_words(cause)}});
  }
  return causes;
}

Result<Outcome> run(Context&, const json& parameters) {
  const std::string part = parameters.value("name", "");
  Outcome outcome;
  json& metrics = outcome.data["metrics"] = json::array();
  for (const auto& info : analyze::all_metrics()) {
    if (info.id.find(part) != std::string_view::npos) metrics.push_back(metric_json(info));
  }
  if (metrics.empty())
    return Error{ErrorCode::kNotFound, "there is no metric named: " + part, "{} lists all", {{"metrics"}}};
  if (part.empty()) {
    outcome.data["classes"] = classes_json();
    outcome.data["idle_causes"] = idle_causes_json();
  }
  return outcome;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  std::string out, section;
  for (const json& metric : outcome.data["metrics"]) {
    if (metric["section"] != section) {
      section = metric["section"];
      out += (out.empty() ? "" : "\n") + bold(section, style) + "\n";
    }
    const std::string of = metric["of"].get<std::string>();
    out += fmt::format("  {}  {}{}\n      {}\n", metric["id"].get<std::string>(),
                       dim(metric["unit"].get<std::string>(), style),
                       of.empty() ? "" : dim(" of " + of, style), metric["formula"].get<std::string>());
  }
  return out;
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "metrics",
      .summary = "List the metrics with their definitions",
      .use_when = "you want to know what a figure means, or write a rule",
      .not_when = "you want the values of a run: analyze --json",
      .example = R"({"name": "idle"})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = true, .mcp = true},
      .cost = Cost::kLight,
      .cuts = kCuts,
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::metrics_operation
