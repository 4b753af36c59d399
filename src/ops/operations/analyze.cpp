#include <fmt/core.h>

#include <utility>

#include "ops/runs/analysis_options.h"
#include "ops/runs/iteration_times.h"
#include "ops/runs/named_analysis.h"
#include "ops/runs/recorded_times.h"
#include "ops/screen/analyze_text.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["run"],
  "properties": {
    "run": {"type": "string", "x-positional": 1, "x-run": true,
            "description": "run id, tag, @latest, @baseline:NAME, bundle folder or profile"},
    "window": {"type": "string", "default": "whole",
               "description": "whole, step:N (from 0), prefill, decode, decode_step, or the name of an annotation"},
    "top": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 10, "description": "rows of each table"},
    "phase": {"type": "array", "items": {"type": "string"},
              "description": "name of the ranges of an LLM phase, e.g. prefill=LLM@prefill; also decode=, decode_step="},
    "peaks": {"type": "string", "x-host-path": true, "description": "YAML file with device peaks of your own"},
    "rules": {"type": "array", "items": {"type": "string"}, "x-host-path": true,
              "description": "folder with rules of your own"}
  }})";

constexpr char kResult[] = R"({
  "type": "object",
  "required": ["run_id", "window", "limiters", "devices", "steps", "top_kernels", "top_ops", "coverage", "counters",
               "collectives", "clocks", "launch_matches", "findings"],
  "properties": {
    "counters": {
      "description": "what a counter profiler says of launches, by kernel; null without such",
      "type": ["object", "null"],
      "required": ["launches", "measured", "replay_ns", "devices", "kernels", "not_shown", "top_launches", "advice"],
      "properties": {
        "launches": {"type": "integer"}, "measured": {"type": "integer"}, "replay_ns": {"type": "integer"},
        "kernels": {"type": "array", "items": {"type": "object",
          "required": ["kernel", "label", "launches", "replay_ns", "achieved_occupancy_pct", "warp_efficiency_pct",
                       "l2_hit_pct", "dram_pct", "dram_bytes_per_s", "sm_pct", "memory_pct", "intensity", "bound",
                       "roof_share", "absent"]}}}}}})";

Result<Outcome> run(Context& context, const json& parameters) {
  const auto engine = store::EngineStart::leased(store::reading_engine());
  NL_TRY(const auto named, resolve_run(context, parameters["run"]));
  NL_TRY(const auto options, analysis_options(context, parameters));
  NL_TRY(const auto open, open_derived(named, engine));
  NL_TRY(auto analysis, analyze::analyze_run(open, options));
  Outcome outcome;
  outcome.data = std::move(analysis.data);
  outcome.data["run_id"] = named.run_id;
  NL_TRY(outcome.data["iterations"], iteration_times(*open));
  NL_TRY(outcome.data["recorded_times"], recorded_part(*open, options.window, options.top));
  if (std::string warning = overhead_warning(outcome.data["iterations"]); !warning.empty())
    outcome.warnings.push_back(std::move(warning));
  const std::string id = short_id(named.run_id);
  if (outcome.data["steps"]["count"] != 0 && options.window == "whole")
    outcome.next.push_back(fmt::format("neurolens analyze {} --window step:0", id));
  if (outcome.data["devices"].empty() && open->has("samples"))
    outcome.next.push_back(fmt::format("neurolens show {}", id));  // where the processors' time went
  if (!outcome.data["findings"].empty()) outcome.next.push_back(fmt::format("neurolens findings {}", id));
  return outcome;
}

}  // namespace

const Operation& operation_analyze() {
  static constexpr Operation kOperation{
      "analyze",
      "Say where the time of a run went, as a sum that closes",
      "you want to know what limits a run: compute, communication, copies or idle time, and why",
      "you only want to know what a run is: show; you need other columns: query",
      "neurolens analyze @latest",
      kParameters,
      kResult,
      Effect::kRead,
      {.cli = true, .http = true, .mcp = true},
      Stream::kNone,
      run,
      analyze_text};
  return kOperation;
}

}  // namespace nl::ops
