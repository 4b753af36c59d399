#include "analyze/run_analysis.h"

#include <algorithm>

#include "analyze/budget.h"
#include "analyze/capture_notes.h"
#include "analyze/loaded_run.h"
#include "analyze/roofline/launch_counters.h"
#include "analyze/rules/finding.h"
#include "analyze/rules/rule_set.h"
#include "analyze/time/collectives.h"
#include "analyze/time/engine_layers.h"
#include "analyze/time/source_joins.h"
#include "analyze/work_pattern.h"
#include "base/call_control.h"

namespace nl::analyze {
namespace {

using nlohmann::json;

/// A device that shows whole inferences, not kernels: the classes are those of the engine's layers.
void use_layer_classes(Measured& measured, const std::optional<EngineAnswer>& engine) {
  if (!engine || measured.devices.size() != 1) return;
  const EngineLayers* const layers = &engine->layers;
  MeasuredDevice& device = measured.devices.front();
  if (device.state->device.is_host || device.state->device.has_records) return;
  for (size_t i = 0; i < kOpClasses; i++) {
    const auto op_class = static_cast<OpClass>(i);
    const auto ns = layers->classes.find(std::string(op_class_name(op_class)));
    device.metrics.set(class_metric(op_class), ns == layers->classes.end() ? int64_t{0} : ns->second);
  }
  if (layers->total_ns == 0) return;
  const double other = *device.metrics.get(Metric::other_kernel_time);
  device.metrics.set(Metric::unclassified_share,
                     Known<double>(other / static_cast<double>(layers->total_ns)));
}

/// The layers of the engine stand in for ops, and for layers of the model, where the run has none of its own.
void add_engine(Analysis& data, EngineAnswer engine) {
  if (data.top_ops.empty()) data.top_ops = engine.layers.top;
  if (data.devices.empty()) data.limiters = engine_limiters(engine.layers);
  if (data.model_layers.devices.empty() && engine.of_model)
    data.model_layers = {std::nullopt, {std::move(*engine.of_model)}};
  data.layers = std::move(engine.layers);
}

/// What the rank of a device waited for others.
void add_waits(MeasuredDevice& device, const CollectivesAnswer& collectives) {
  const auto& rank = device.state->device.rank;
  for (const RankWait& row : collectives.waits) {
    if (rank && row.rank == *rank && !device.state->device.is_host)
      return device.metrics.set(Metric::collective_wait_time, row.wait_ns);
  }
  device.metrics.absent(Metric::collective_wait_time,
                        collectives.absent.value_or("the rank takes part in no collective of several ranks"));
}

Result<void> add_patterns(RunAnalysis& analysis, store::OpenRun& open, const PreparedRun& run,
                          const Measured& measured) {
  NL_TRY(const OpShapes shapes, load_op_shapes(open, run));
  analysis.patterns = json::array();
  for (const MeasuredDevice& device : measured.devices)
    analysis.patterns.push_back(work_pattern(run, shapes, device.state->device, measured.window));
  for (const Step& step : run.windows.steps.list) analysis.step_durations_ns.push_back(step.time.length());
  return {};
}

/// Of all devices, the most time at stake first.
void add_findings(RunAnalysis& analysis) {
  Analysis& data = analysis.data;
  for (size_t i = 0; i < analysis.devices.size(); i++) {
    const DeviceName& on = data.devices[i].on;
    const Evaluation& said = analysis.devices[i].evaluation;
    for (const auto& finding : said.findings) data.findings.push_back({finding, on});
    for (const auto& abstention : said.abstentions) data.abstentions.push_back({abstention, on});
  }
  std::stable_sort(data.findings.begin(), data.findings.end(),
                   [](const FindingOnDevice& a, const FindingOnDevice& b) {
                     return a.finding.at_stake_ns > b.finding.at_stake_ns;
                   });
}

}  // namespace

Result<RunAnalysis> analyze_run(const std::shared_ptr<store::OpenRun>& open, const AnalysisOptions& options) {
  NL_TRY(const Taxonomy* const known, Taxonomy::shared());
  const Taxonomy& taxonomy = *known;
  NL_TRY(LoadedRun loaded, load_run(open, taxonomy, options));
  auto& [run_again, run, sources] = loaded;
  NL_TRY(auto engine, engine_layers(*open, taxonomy, options.top));
  NL_TRY(auto counters, launch_counters(*open, sources.document["hardware"], sources.peaks, options.top));
  report_progress("analyzing", 0.6);
  NL_TRY(Measured measured, measure(run, sources, options.window));
  use_layer_classes(measured, engine);
  NL_TRY(auto collectives, run_collectives(*open, run.timeline, measured.window));
  for (MeasuredDevice& device : measured.devices) add_waits(device, collectives);
  RunAnalysis analysis;
  Analysis& data = analysis.data;
  NL_TRY(const auto graphs, graph_ops_of(*open, run, options.graph_donors, taxonomy));
  data = analysis_of(run, measured, taxonomy, options, graphs ? &*graphs : nullptr);
  data.notes = capture_notes(run, sources, measured.window, data);
  data.undecided = why_undecided(run, data);
  if (options.with_patterns) NL_CHECK(add_patterns(analysis, *open, run, measured));
  if (engine) add_engine(data, std::move(*engine));
  data.collectives = std::move(collectives);
  data.counters = std::move(counters);
  NL_TRY(data.clocks, clocks_of(*open, run.timeline));
  NL_TRY(data.launch_matches, launch_matches(*open));
  NL_CHECK(check_cancelled());
  NL_TRY(const RuleSet rules,
         load_rules(ExpressionParser([&] { return open->ask({}); }), options.rule_folders));
  for (MeasuredDevice& device : measured.devices) {
    Evaluation evaluation = evaluate_rules(rules.rules, device.metrics);
    share_budget(evaluation.findings, rules.rules, device.metrics);
    analysis.devices.push_back(
        {device_text(device.state->device), std::move(device.metrics), std::move(evaluation)});
  }
  add_findings(analysis);
  return analysis;
}

std::string device_text(const Device& device) {
  if (device.is_host) return device.rank ? std::to_string(*device.rank) + ":cpu" : "cpu";
  const std::string number = device.number ? std::to_string(*device.number) : "?";
  return device.rank ? std::to_string(*device.rank) + ":" + number : number;
}

}  // namespace nl::analyze
