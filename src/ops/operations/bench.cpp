#include "base/json.h"
#include "lab/targets/bench_file.h"
#include "ops/lab/bench_bisect.h"
#include "ops/lab/bench_files.h"
#include "ops/lab/bench_report.h"
#include "ops/lab/bench_run.h"
#include "ops/lab/bench_tools.h"

namespace nl::ops::bench_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"json({
  "type": "object", "additionalProperties": false,
  "properties": {
    "action": {"type": "string", "enum": ["run", "init", "list", "check", "report", "bisect", "audit", "schema"], "default": "run", "x-positional": 1,
               "description": "init: write a bench.yaml; check: is it in order, and this machine fit; report: a session and its history; bisect: which revision made it slower; audit: what this machine can tell apart"},
    "target": {"type": "array", "items": {"type": "string"}, "x-short": "t", "x-many": true,
               "description": "names of targets (default: all)"},
    "file": {"type": "string", "x-host-path": true, "description": "default: the only bench.yaml here or below"},
    "resume": {"x-rare": true, "type": "boolean", "description": "go on with the newest session that was interrupted"},
    "grow": {"x-rare": true, "type": "boolean", "description": "where a claim is not met, also measure the larger sizes that the file names"},
    "deep": {"x-rare": true, "type": "boolean", "description": "also profile both sides of each claim with nsys and ncu (models and functions: with their own profiler), and say by their comparison why"},
    "update_expectations": {"x-rare": true, "type": "boolean", "description": "write what was measured into the file as its expectations; who did that and what stood there goes to FILE.expectations.jsonl"},
    "good": {"x-rare": true, "type": "string", "description": "of bisect: a revision at which the baseline of the target is fast"},
    "bad": {"x-rare": true, "type": "string", "description": "of bisect: a later revision at which it is slow"},
    "build": {"x-rare": true, "type": "string", "description": "of bisect: what the shell runs in each checkout before it is measured"},
    "points": {"x-rare": true, "type": "array", "items": {"type": "string"}, "x-many": true,
               "description": "of bisect: configurations or versions instead of revisions, the good one first; {} in the command stands for one"},
    "values": {"x-rare": true, "type": "string", "x-host-path": true, "description": "of bisect: file in which values are kept, so that a search goes on"},
    "pairs": {"x-rare": true, "type": "integer", "minimum": 8, "maximum": 10000, "default": 40, "description": "of audit: pairs of runs"},
    "session": {"x-rare": true, "type": "string", "description": "of report: which session (default: the newest)"},
    "html": {"x-rare": true, "type": "string", "x-host-path": true, "description": "of report: write it as one HTML page to this file"},
    "allow": {"x-rare": true, "type": "array", "items": {"type": "string"},
              "description": "CHECK=REASON: measure although this check finds the machine unfit; may be repeated"},
    "wait": {"x-rare": true, "type": "integer", "minimum": 0, "maximum": 604800, "default": 0,
             "description": "seconds to wait for others who measure on this machine"}
  }})json";

constexpr char kResult[] = R"json({
  "type": "object",
  "properties": {
    "suite": {"type": "string"}, "session": {"type": "string", "description": "of run: what --resume and bench report call it"},
    "file": {"type": "string"}, "found": {"type": "integer", "description": "of init: models and scripts"},
    "finished": {"type": "boolean"},
    "schema": {"type": "object", "description": "of schema: the JSON Schema of bench.yaml"},
    "faults": {"type": "array", "description": "of check", "items": {"type": "object",
      "required": ["file", "line", "target", "what", "severity"]}},
    "environment": {"type": "object", "required": ["fit", "checks"], "description": "what of this machine disturbs measurements"},
    "target": {"type": "string"}, "noise": {"type": "object", "description": "of audit: how runs of the same thing spread, and what so many runs can tell apart"},
    "suspects": {"type": "array", "description": "of bisect: the point that made it slower; several where those between cannot be measured"},
    "history": {"type": "object", "description": "of report: by name of the claim, what the sessions of this suite found, the oldest first, and where the level changed"},
    "overhead_ns": {"type": ["integer", "null"], "description": "wall time of a command that does nothing"},
    "expectation_updates": {"type": "array", "description": "of run --update-expectations: each expectation of the file, before and after"},
    "why": {"type": "string", "description": "of bisect: what the comparison of the culprit with the point before it says"},
    "targets": {"type": "array", "description": "of run: one row for each claim, a target and one of its variants; of list: the targets",
      "items": {"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "verdict": {"type": "string", "enum": ["met", "not_met", "inconclusive", "refused"]},
        "speedup": {"type": ["number", "null"], "description": "time of the baseline over time of the variant"},
        "low": {"type": ["number", "null"], "description": "of its interval"}, "high": {"type": ["number", "null"]},
        "runs": {"type": "integer", "description": "process runs that count, of both sides"}}}}}})json";

constexpr Cut kCuts[] = {{"/environment/checks"},
                         {"/targets/*/baseline/run_ids"},
                         {"/targets/*/changed/run_ids"},
                         {"/targets", 5}};

Result<Outcome> print_schema() {
  Outcome outcome;
  outcome.data["schema"] = json::parse(lab::bench_schema());
  return outcome;
}

Result<Outcome> run(Context& context, const json& parameters) {
  const std::string action = parameters["action"];
  if (action == "init") return init_bench_file(context, parameters);
  if (action == "list") return list_targets(context, parameters);
  if (action == "check") return check_bench_files(context, parameters);
  if (action == "report") return report_bench(context, parameters);
  if (action == "bisect") return bisect_target(context, parameters);
  if (action == "audit") return audit_machine(context, parameters);
  if (action == "schema") return print_schema();
  return run_bench(context, parameters);
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  if (outcome.data.contains("schema")) return outcome.data["schema"].dump(2) + "\n";
  if (outcome.data.contains("noise")) return audit_text(outcome, style);
  if (outcome.data.contains("suspects")) return bench_bisect_text(outcome, style);
  return outcome.data.contains("session") || outcome.shown.contains("unfit")
             ? bench_run_text(outcome, style)
             : bench_files_text(outcome, style);
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "bench",
      .summary =
          "Prove that a variant is faster than its baseline, and still right: claims of a bench.yaml, "
          "measured by turns",
      .use_when =
          "you claim a speed-up by changed code, options or a model: an A/B benchmark, repeated until it is "
          "decided",
      .not_when = "the runs are there: compare; where the time goes: profile, record",
      .example = R"({"action": "run", "target": ["attention"]})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kExec,
      .reach = {.cli = true, .http = false, .mcp = true},
      .cuts = kCuts,
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::bench_operation
