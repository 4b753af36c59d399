#include <fmt/core.h>

#include <utility>

#include "ops/runs/named_analysis.h"
#include "ops/runs/page_calls.h"
#include "ops/screen/analyze_text.h"

namespace nl::ops::analyze_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["run"],
  "properties": {
    "run": {"x-run": true},
    "window": {"type": "string", "default": "steady",
               "description": "steady (without set-up, warm-up and tail), whole, step:N (from 0), ns:BEGIN..END (times as in the tables), prefill, decode, decode_step, or the name of an annotation"},
    "top": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 10, "description": "rows in each table"},
    "phase": {"x-rare": true, "type": "array", "items": {"type": "string"},
              "description": "name of the ranges of an LLM phase, e.g. prefill=LLM@prefill; also decode=, decode_step="},
    "model_config": {"x-rare": true, "type": "string", "x-host-path": true,
                     "description": "config.json of the language model, as on Hugging Face: steps are then compared with what memory bandwidth and peaks allow"},
    "peaks": {"x-rare": true, "type": "string", "x-host-path": true, "description": "YAML file with your own device peaks"},
    "rules": {"x-rare": true, "type": "array", "items": {"type": "string"}, "x-host-path": true,
              "description": "folder with your own rules"},
    "graph_ops": {"x-rare": true, "type": "string", "x-run": true,
                  "description": "run or profile from which graph replays get their ops: the trace of the graph's capture, or a run of the model without graphs"}
  }})";

constexpr int64_t kNameBytes = 160;  // those of CUTLASS have thousands, in every row; labels are short

/// The verdict and what it rests on stay longest; lists by time go whole, since half of one shows nothing.
/// Tables list device after device, so their rows are weighed.
constexpr Cut kCuts[] = {
    {"/abstentions"},
    {"/devices/*/metrics"},
    {"/steps/list"},
    {"/window/intervals"},
    {"/counters/top_launches"},
    {"/counters/kernels/*/kernel", kNameBytes},
    {"/counters/advice/*/kernel", kNameBytes},
    {"/counters/diagnosis/*/kernel", kNameBytes},
    {"/top_kernels/*/name", kNameBytes},
    {"/top_kernels/*/short_name", kNameBytes},
    {"/findings/*/references"},
    {"/devices/*/roofline/ops", 3},
    {"/devices/*/roofline/without_model"},
    {"/layers/top"},
    {"/model_layers/devices/*/layers"},
    {"/graph_ops/top", 3},
    {"/collectives/point_to_point"},
    {"/collectives/kinds/*/waits"},
    {"/collectives/kinds", 3},
    {"/counters/advice", 3},
    {"/counters/kernels", 3},
    {"/top_modules", 3, "device_ns"},
    {"/top_ops", 5, "share"},
    {"/top_kernels", 5, "total_ns"},
    {"/devices/*/longest_gaps", 1},
    {"/findings/*/evidence", 2},
    {"/findings/*/suggestions", 2},
    {"/limiters", 3},
    {"/devices", 2, "busy_ns"},
    {"/devices/*/roofline/ops"},
    {"/counters/advice"},
    {"/counters/kernels", 1},
    {"/collectives/waits"},
    {"/collectives/kinds", 1},
    {"/top_modules", 0, "device_ns"},
    {"/top_ops", 2, "share"},
    {"/top_kernels", 2, "total_ns"},
    {"/findings", 3},
    {"/model_roof/rows", 3},
    {"/serving", 3},
    {"/phases"},
    {"/recorded_times"},
    {"/findings/*/evidence", 1},
    {"/findings/*/suggestions", 1},
    {"/window/outside"},
    {"/devices/*/longest_gaps"},
    {"/devices/*/classes"},
    {"/devices/*/roofline/peaks/dense"},
    {"/devices", 1, "busy_ns"},
    {"/collectives/kinds"},
    {"/counters/kernels"},
    {"/counters/diagnosis", 3},
    {"/counters/diagnosis/*/figures"},
    {"/counters/devices"},
    {"/top_ops", 1, "share"},
    {"/top_kernels", 1, "total_ns"},
    {"/layers/remarks", 3},
    {"/host_remarks", 3},
    {"/model_roof/rows"},
    {"/serving"},
    {"/iterations"},
    {"/top_ops", 0, "share"},
    {"/top_kernels", 0, "total_ns"},
    {"/layers"},
    {"/model_layers/devices"},
    {"/graph_ops"},
    {"/devices/*/idle_causes"},
    {"/inference_times"},
    {"/findings", 1},
    {"/devices"},
    {"/host_remarks"},
    {"/counters/diagnosis", 1},
    {"/counters"},  // of a counter profile, which has no limiter, this is the verdict
    {"/limiters", 1},
    {"/findings"},
    {"/notes"},
    {"/undecided", kKeepAll},
};

Result<Outcome> run(Context& context, const json& parameters) {
  NL_TRY(auto done, analyze_named_run(context, parameters));
  const AnalyzedRun answer{.run_id = done.named.run_id,
                           .analysis = std::move(done.analysis.data),
                           .iterations = std::move(done.iterations)};
  Outcome outcome = answered(answer);
  if (std::string warning = overhead_warning(answer.iterations); !warning.empty())
    outcome.warnings.push_back(std::move(warning));
  const std::string id = done.named.call_name();
  if (answer.analysis.steps.count != 0 && parameters["window"] == "steady")
    outcome.next.push_back(suggested("analyze", {{"run", id}, {"window", "step:0"}}));
  if (answer.analysis.devices.empty() && done.open->has("samples"))
    outcome.next.push_back(suggested("show", {{"run", id}}));  // where the processors' time went
  if (!answer.analysis.findings.empty()) outcome.next.push_back(suggested("findings", {{"run", id}}));
  suggest_pages(outcome, done.named);
  return outcome;
}

std::string conclusion(const Outcome& outcome) {
  const nlohmann::json& limiters = outcome.data.at("limiters");
  if (limiters.empty()) return "nothing says what limits the window";
  const nlohmann::json& most = limiters[0];
  return fmt::format("limited by {}, {:.1f} % of the window: {}", most.at("what").get<std::string>(),
                     most.at("share").get<double>() * 100, most.at("words").get<std::string>());
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "analyze",
      .summary =
          "Break down where the time went: compute, exposed communication, memory copies, idle gaps and "
          "their causes",
      .use_when =
          "you ask why the GPU is idle or its utilisation low; whether it is compute, memory, launch or CPU "
          "bound; how many milliseconds or what share of the wall or busy time is spent in kernels, layers "
          "of the model, attention, GEMM, collectives, a step, prefill, decode, synchronisation or host "
          "overhead; which rank is the straggler and how long others wait; roofline, bandwidth, overlap, "
          "tokens per second",
      .not_when = "you want rows: query",
      .example = R"({"run": "@latest"})",
      .parameters = kParameters,
      .result = schema_text<AnalyzedRun>,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = true, .mcp = true},
      .cuts = kCuts,
      .run = run,
      .text = analyze_text,
      .conclusion = conclusion,
  };
  return kOperation;
}

}  // namespace nl::ops::analyze_operation
