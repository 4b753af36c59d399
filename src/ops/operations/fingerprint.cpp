#include "fingerprint/fingerprint.h"

#include <fmt/core.h>

#include "fingerprint/op_vectors.h"
#include "ops/runs/run_measures.h"
#include "ops/text/text.h"

namespace nl::ops::fingerprint_operation {
namespace {

using fingerprint::Dimension;
using fingerprint::Fingerprint;
using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["run"],
  "properties": {
    "run": {"x-run": true},
    "top": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 10, "description": "op types or layers to list"},
    "peaks": {"type": "string", "x-host-path": true, "description": "YAML file with your own device peaks"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["run_id", "version", "dimensions", "absent", "ops"],
  "properties": {
    "run_id": {"type": "string"},
    "version": {"type": "integer", "description": "version of the fingerprint; two versions cannot be compared"},
    "dimensions": {"type": "array", "items": {"type": "object",
      "required": ["id", "name", "weight", "values"],
      "properties": {"values": {"type": "array", "items": {"type": "number"}}}}},
    "absent": {"type": "array", "items": {"type": "object", "required": ["id", "reason"]}},
    "ops": {"type": "array", "items": {"type": "object",
      "required": ["name", "class", "share", "calls", "total_ns", "dimensions", "absent"]}}}})";

constexpr Cut kCuts[] = {{"/ops", 3}, {"/absent"}, {"/dimensions"}, {"/ops"}};

json dimensions_json(const Fingerprint& print) {
  json list = json::array();
  for (size_t i = 0; i < fingerprint::kDimensions; i++) {
    const auto dimension = static_cast<Dimension>(i);
    if (!has(print.present, dimension)) continue;
    const auto& about = info(dimension);
    const auto values = print.of(dimension);
    list.push_back({{"id", about.id},
                    {"name", about.name},
                    {"formula", about.formula},
                    {"weight", about.weight},
                    {"values", std::vector<double>(values.begin(), values.end())}});
  }
  return list;
}

json absent_json(const Fingerprint& print) {
  json list = json::array();
  for (const auto& [dimension, reason] : print.absent)
    list.push_back({{"id", info(dimension).id}, {"reason", reason}});
  return list;
}

Result<json> measures_for(const NamedRun& named, const json& parameters) {
  if (!parameters.contains("peaks")) return run_measures(named);
  return run_measures_with_peaks(named, parameters["peaks"]);
}

Result<Outcome> run(Context& context, const json& parameters) {
  NL_TRY(const auto named, resolve_run(context, parameters["run"]));
  NL_TRY(const json measures, measures_for(named, parameters));
  NL_TRY(const Fingerprint print, fingerprint::fingerprint_of(measures));
  Outcome outcome;
  outcome.data = {{"run_id", named.run_id},
                  {"version", fingerprint::kVersion},
                  {"dimensions", dimensions_json(print)},
                  {"absent", absent_json(print)}};
  NL_TRY(outcome.data["ops"], fingerprint::op_vectors(measures, parameters["top"]));
  outcome.next.push_back(suggested("similar", {{"run", named.call_name()}}));
  return outcome;
}

/// A number as it is; of shares how many columns hold any.
std::string values_text(const json& dimension) {
  const json& values = dimension["values"];
  if (values.size() == 1) return fmt::format("{:.3f}", values[0].get<double>());
  size_t used = 0;
  for (const json& value : values) used += value.get<double>() > 0;
  return fmt::format("{} of {} columns in use", used, values.size());
}

std::string ops_text(const json& ops, const TextStyle& style) {
  using enum TextTable::Align;
  TextTable table({kLeft, kLeft, kRight, kRight, kRight, kRight});
  table.add({"op type", "class", "share", "calls", "times the roof", "FLOP/byte"});
  const auto number = [](const json& op, const char* id) {
    return op["dimensions"].contains(id) ? fmt::format("{:.1f}", op["dimensions"][id].get<double>()) : "-";
  };
  for (const json& op : ops) {
    table.add({shortened(op["name"].get<std::string>(), 40), op["class"], percent_text(op["share"]),
               grouped(op["calls"].get<int64_t>()), number(op, "lat_norm"), number(op, "ai")});
  }
  return table.text("  ", true, style);
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  const json& data = outcome.data;
  using enum TextTable::Align;
  std::string out = fmt::format("{}  fingerprint version {}\n",
                                bold("run " + short_id(data["run_id"]), style), data["version"].get<int>());
  TextTable table({kLeft, kLeft, kLeft});
  for (const json& dimension : data["dimensions"])
    table.add({dimension["id"], values_text(dimension), dimension["name"]});
  for (const json& one : data["absent"]) table.add({one["id"], "absent", one["reason"]});
  out += table.text("  ", false, style);
  return data["ops"].empty() ? out : out + ops_text(data["ops"], style);
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "fingerprint",
      .summary = "Show a run as numbers that can be compared with those of other runs",
      .use_when = "you want to see what the search for similar runs compares",
      .not_when = "you want the similar runs themselves: similar",
      .example = R"({"run": "@latest"})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = true},
      .cuts = kCuts,
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::fingerprint_operation
