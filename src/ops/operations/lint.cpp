#include <fmt/core.h>

#include "analyze/rules/range_lint.h"
#include "ops/runs/run_names.h"
#include "ops/text/text.h"
#include "store/open_run.h"

namespace nl::ops::lint_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["run"],
  "properties": {
    "run": {"x-run": true},
    "names": {"x-rare": true, "type": "string", "x-host-path": true,
              "description": "YAML file with names: a list of regular expressions; every other name is reported as a fault"},
    "top": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 10000, "default": 10, "description": "rows in each list"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["run_id", "ranges", "names", "coverage", "faults", "unknown_names", "faulty"]})";

Result<Outcome> run(Context& context, const json& parameters) {
  const auto engine = store::EngineStart::leased(store::reading_engine());
  NL_TRY(const auto named, resolve_run(context, parameters["run"]));
  analyze::LintOptions options;
  options.names_file = parameters.value("names", "");
  options.top = parameters["top"];
  NL_TRY(const auto open, store::OpenRun::open(named.place(), engine));
  Outcome outcome;
  NL_TRY(outcome.data, analyze::lint_ranges(*open, options));
  outcome.data["run_id"] = named.run_id;
  outcome.exit_code = outcome.data["faulty"].get<bool>() ? 1 : 0;
  if (outcome.data["ranges"] != 0)
    outcome.next.push_back(suggested("analyze", {{"run", named.call_name()}, {"window", "NAME"}}));
  return outcome;
}

std::string fault_text(const json& fault, const TextStyle& style) {
  std::string out =
      fmt::format("  {} {}: {}\n", yellow(grouped(fault["count"].get<int64_t>()), style),
                  bold(fault["fault"].get<std::string>(), style), fault["meaning"].get<std::string>());
  for (const json& example : fault["examples"]) {
    out += fmt::format("      span {}  {}\n", example["span_id"].get<int64_t>(),
                       shortened(example["name"].get<std::string>(), 60));
  }
  return out;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  const json& data = outcome.data;
  const json& coverage = data["coverage"];
  std::string out = fmt::format("{}  {} of {}", bold("run " + short_id(data["run_id"]), style),
                                counted(data["ranges"], "range"), counted(data["names"], "name"));
  if (!coverage["share"].is_null())
    out += fmt::format(", covering {} of {}", percent_text(coverage["share"]),
                       duration_text(coverage["window_ns"]));
  out += "\n";
  for (const json& fault : data["faults"]) out += fault_text(fault, style);
  if (data["faults"].empty()) out += data["ranges"] == 0 ? "  no ranges were recorded\n" : "  no faults\n";
  if (data["unknown_names"].empty()) return out;
  out += fmt::format("  {} outside of the taxonomy\n", counted(data["unknown_name_count"], "name"));
  for (const json& name : data["unknown_names"])
    out += fmt::format("      {:>6}  {}\n", grouped(name["count"].get<int64_t>()),
                       shortened(name["name"].get<std::string>(), 70));
  return out;
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "lint",
      .summary =
          "Check the NVTX ranges, markers and annotations of a program: well formed, nested, closed, named, "
          "covering the time",
      .use_when =
          "you ask whether your instrumentation is complete, correct and good enough for windows and phases, "
          "or has unclosed, unbalanced, overlapping or badly named ranges",
      .not_when = "you want to know where the time went: analyze",
      .example = R"({"run": "@latest"})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = true, .mcp = true},
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::lint_operation
