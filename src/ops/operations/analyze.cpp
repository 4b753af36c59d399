#include <fmt/core.h>

#include <utility>

#include "ops/runs/analysis_options.h"
#include "ops/runs/named_analysis.h"
#include "ops/runs/recorded_times.h"
#include "ops/screen/analyze_text.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["run"],
  "properties": {
    "run": {"x-run": true},
    "window": {"type": "string", "default": "steady",
               "description": "steady (without set-up, warm-up and tail), whole, step:N (from 0), prefill, decode, decode_step, or the name of an annotation"},
    "top": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 10, "description": "rows of each table"},
    "phase": {"type": "array", "items": {"type": "string"},
              "description": "name of the ranges of an LLM phase, e.g. prefill=LLM@prefill; also decode=, decode_step="},
    "peaks": {"type": "string", "x-host-path": true, "description": "YAML file with device peaks of your own"},
    "rules": {"type": "array", "items": {"type": "string"}, "x-host-path": true,
              "description": "folder with rules of your own"}
  }})";

Result<Outcome> run(Context& context, const json& parameters) {
  const auto engine = store::EngineStart::leased(store::reading_engine());
  NL_TRY(const auto named, resolve_run(context, parameters["run"]));
  NL_TRY(const auto options, analysis_options(parameters));
  NL_TRY(const auto open, open_derived(named, engine));
  NL_TRY(auto analysis, analyze::analyze_run(open, options));
  AnalyzedRun answer{.run_id = named.run_id, .analysis = std::move(analysis.data)};
  NL_TRY(answer.iterations, iteration_times(*open));
  NL_TRY(answer.analysis.recorded_times, recorded_part(*open, options.window, options.top));
  Outcome outcome = answered(answer);
  if (std::string warning = overhead_warning(answer.iterations); !warning.empty())
    outcome.warnings.push_back(std::move(warning));
  const std::string id = short_id(named.run_id);
  if (answer.analysis.steps.count != 0 && options.window == "steady")
    outcome.next.push_back(suggested("analyze", {{"run", id}, {"window", "step:0"}}));
  if (answer.analysis.devices.empty() && open->has("samples"))
    outcome.next.push_back(suggested("show", {{"run", id}}));  // where the processors' time went
  if (!answer.analysis.findings.empty()) outcome.next.push_back(suggested("findings", {{"run", id}}));
  outcome.next.push_back(suggested("report", {{"run", id}}));
  return outcome;
}

}  // namespace

const Operation& operation_analyze() {
  static constexpr Operation kOperation{
      .name = "analyze",
      .summary = "Say where the time of a run went, as a sum that closes",
      .use_when = "you want to know what limits a run: compute, communication, copies or idle time, and why",
      .not_when = "you only want to know what a run is: show; you need other columns: query",
      .example = R"({"run": "@latest"})",
      .parameters = kParameters,
      .result = schema_text<AnalyzedRun>,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = true, .mcp = true},
      .run = run,
      .text = analyze_text,
  };
  return kOperation;
}

}  // namespace nl::ops
