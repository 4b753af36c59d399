// The answer of an analysis follows the schema that its description gives, and no key goes undescribed.

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/json_schema.h"
#include "ops/screen/analyze_text.h"
#include "unit/undescribed_keys.h"

namespace nl::analyze {
namespace {

using nlohmann::json;
using ops::AnalyzedRun;

bool follows(const json& tree) {
  return JsonSchema(std::string(schema_text<AnalyzedRun>()), "answer").validate(tree).has_value();
}

Analysis full_analysis() {
  const DeviceName gpu{{false, 0}, 1}, host{{true, {}}, {}};
  Analysis out;
  out.window = {"steady", 10, 1, {{5, 15}}, 15, "1 step by period", {{"setup", 0, 5, "set-up", 4, "load"}}};
  out.limiters = {{gpu, "compute", 10, 1, "kernels compute"}};
  DeviceAnswer device{.on = gpu, .name = "GPU", .longest_gaps = {{1, 2, "launch", "op", "kernels", 3}}};
  device.roofline.ops = {{.name = "mm", .absent = "no peak"}};
  device.roofline.peaks = PeaksAnswer{"GPU", "its maker", 1e12, {{"fp32", 1e13}}};
  device.work = WorkSources{{1, 0, 0}, {"ncclAllReduce"}, {}};
  device.strip = std::vector<StripColumn>{{1, 2, 3, 4}};
  device.memory = MemoryAnswer{false, {{0, 5, std::nullopt}, {1, 6, 7}}};
  device.metrics.set(Metric::total_time, int64_t{10});
  out.devices = {device, {.on = host, .kind = DeviceKind::kHost}};
  out.notes = {{"no_ops", "No host ops were recorded."}};
  out.undecided = Remark{"little_work", "too little device work"};
  StepAnswer step{.window = "step:0", .label = "one", .phase = "prefill", .dur_ns = 10, .host_start_ns = 1};
  step.devices = {{Decomposition{}, gpu, 3}};
  out.steps = {"period", 1, 0, 0.9, 4, {step}};
  out.serving = {
      {.engine = "vLLM", .phase = "prefill", .prefill_requests = 2, .steps = 1, .tokens_per_s = 2.5}};
  out.coverage = {{.on = gpu}};
  out.top_kernels = {{.on = gpu, .name = "k"}};
  out.top_ops = {{.on = gpu, .name = "mm", .device_ns = 5}, {.on = host, .name = "add", .own_ns = 2}};
  out.top_modules = {{.on = gpu}};
  out.model_layers.devices = {{.on = gpu,
                               .stacks = {{.name = "layers", .uneven = {1}}},
                               .layers = {{.stack = "layers", .share = 0.5}},
                               .classes = {{"gemm", 1}},
                               .remarks = {{"layers", "2 layers"}}}};
  out.phases = {{.on = gpu, .phase = "prefill"}};
  out.not_shown = {{gpu, LeftOut{1, 2}, {}, {}}};
  out.layers = EngineLayers{.top = {{.name = "conv", .owner = Owner::kLayer, .fusion = "none"}},
                            .remarks = {{"flat_profile", "No layer dominates"}}};
  out.host_remarks = {{"one_thread", "All ops ran on one thread"}};
  out.inference_times = InferenceTimes{12, 100, 120, {}, 8000};
  out.collectives.kinds = {{.kind = "all_reduce", .waits = {{1, 2, 3}}}};
  out.collectives.straggler.emplace();
  out.collectives.clocks.emplace();
  out.counters = CountersAnswer{
      .devices = {{}}, .kernels = {{}}, .top_launches = {{}}, .advice = {{}}, .diagnosis = {{}}};
  out.clocks.fits = {{}};
  out.launch_matches.emplace();
  Finding finding{"idle", 1, "The device waits", Confidence::kHigh, {}, 5, {}, {}};
  finding.evidence = {{"idle_time", 5.0, "ns", "idle"}, {"mfu", Absent{"no shapes"}, "ratio", "mfu"}};
  finding.suggestions = {{1, "Do it", Absent{"the metrics do not tell"}, false}};
  out.findings = {{finding, gpu}};
  out.abstentions = {{{"rule", 1, std::nullopt, "division by zero"}, gpu}};
  out.recorded_times = RecordedTimes{{{}}, {{}}, {}, {{}}, {}};
  return out;
}

TEST(AnalysisAnswer, FollowsItsSchema) {
  EXPECT_TRUE(follows(to_json_tree(AnalyzedRun())));
  AnalyzedRun answer{"id", full_analysis(), ops::IterationTimes{}};
  answer.iterations->passes = {{"profiled", 0, 1, {}}, {"unprofiled", 3, 1, ops::PassFigures{}}};
  json tree = to_json_tree(answer);
  EXPECT_TRUE(follows(tree));
  EXPECT_TRUE(follows(json::parse(tree.dump())));
  tree["top_ops"][0]["owner"] = "nobody";
  EXPECT_FALSE(follows(tree));
}

TEST(AnalysisAnswer, SaysDevicesAndMetricsAsBefore) {
  const json tree = to_json_tree(full_analysis());
  EXPECT_EQ(tree["devices"][0]["device"], 0);
  EXPECT_EQ(tree["devices"][0]["rank"], 1);
  EXPECT_EQ(tree["devices"][1]["device"], "cpu");
  EXPECT_TRUE(tree["devices"][1]["rank"].is_null());
  EXPECT_EQ(tree["devices"][0]["metrics"]["total_time"],
            json::parse(R"({"definition": "total_time/1", "unit": "ns", "value": 10})"));
  EXPECT_EQ(tree["devices"][0]["metrics"]["mfu"]["absent"], "not computed");
  EXPECT_EQ(tree["devices"][0]["memory"]["samples"], json::parse("[[0, 5, null], [1, 6, 7]]"));
  EXPECT_EQ(tree["window"]["intervals"], json::parse("[[5, 15]]"));
  EXPECT_FALSE(tree["top_ops"][0].contains("own_ns"));
  EXPECT_FALSE(tree["layers"]["top"][0].contains("rank"));
  EXPECT_EQ(tree["findings"][0]["suggestions"][0]["absent_reason"], "the metrics do not tell");
}

TEST(AnalysisAnswer, HasNoKeyWithoutADescription) {
  EXPECT_EQ(undescribed_keys(schema_of<AnalyzedRun>()), std::vector<std::string>());
}

}  // namespace
}  // namespace nl::analyze
