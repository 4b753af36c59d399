#include <fmt/core.h>

#include <utility>

#include "ops/runs/analysis_options.h"
#include "ops/runs/graph_donors.h"
#include "ops/runs/named_analysis.h"
#include "ops/runs/page_calls.h"
#include "ops/runs/recorded_times.h"
#include "ops/runs/run_state.h"
#include "ops/screen/analyze_text.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["run"],
  "properties": {
    "run": {"x-run": true},
    "window": {"type": "string", "default": "steady",
               "description": "steady (without set-up, warm-up and tail), whole, step:N (from 0), ns:BEGIN..END (times as in the tables), prefill, decode, decode_step, or the name of an annotation"},
    "top": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 10, "description": "rows in each table"},
    "phase": {"type": "array", "items": {"type": "string"},
              "description": "name of the ranges of an LLM phase, e.g. prefill=LLM@prefill; also decode=, decode_step="},
    "model_config": {"type": "string", "x-host-path": true,
                     "description": "config.json of the language model, as on Hugging Face: steps are then compared with what memory bandwidth and peaks allow"},
    "peaks": {"type": "string", "x-host-path": true, "description": "YAML file with your own device peaks"},
    "rules": {"type": "array", "items": {"type": "string"}, "x-host-path": true,
              "description": "folder with your own rules"},
    "graph_ops": {"type": "string", "x-run": true,
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
  const auto engine = store::EngineStart::leased(store::reading_engine());
  NL_TRY(const auto named, resolve_run(context, parameters["run"]));
  NL_TRY(auto options, analysis_options(parameters));
  NL_TRY(const auto open, open_derived(named, engine));
  NL_TRY(const auto labels, labels_of_run(context, named, open->document()));
  use_labels(options, store::counting_values(labels));
  options.graph_donors = donors_in_ledger(named, open->document());
  if (parameters.contains("graph_ops")) {
    NL_TRY(options.graph_donors, named_donor(context, parameters["graph_ops"]));
  }
  NL_TRY(auto analysis, analyze::analyze_run(open, options));
  AnalyzedRun answer{.run_id = named.run_id, .analysis = std::move(analysis.data)};
  NL_TRY(answer.iterations, iteration_times(*open));
  NL_TRY(answer.analysis.recorded_times, recorded_part(*open, options.window, options.top));
  Outcome outcome = answered(answer);
  if (std::string warning = overhead_warning(answer.iterations); !warning.empty())
    outcome.warnings.push_back(std::move(warning));
  const std::string id = named.call_name();
  if (answer.analysis.steps.count != 0 && options.window == "steady")
    outcome.next.push_back(suggested("analyze", {{"run", id}, {"window", "step:0"}}));
  if (answer.analysis.devices.empty() && open->has("samples"))
    outcome.next.push_back(suggested("show", {{"run", id}}));  // where the processors' time went
  if (!answer.analysis.findings.empty()) outcome.next.push_back(suggested("findings", {{"run", id}}));
  suggest_pages(outcome, named);
  return outcome;
}

}  // namespace

const Operation& operation_analyze() {
  static constexpr Operation kOperation{
      .name = "analyze",
      .summary = "Show where the time of a run went; the parts add up to the whole",
      .use_when = "you want to know what limits a run: compute, communication, copies or idle time, and why",
      .not_when = "you only want to know what is in a run: show; you need other columns: query",
      .example = R"({"run": "@latest"})",
      .parameters = kParameters,
      .result = schema_text<AnalyzedRun>,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = true, .mcp = true},
      .cuts = kCuts,
      .run = run,
      .text = analyze_text,
  };
  return kOperation;
}

}  // namespace nl::ops
