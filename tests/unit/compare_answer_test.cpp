// The answers of comparisons follow the schemas that their descriptions give, and no key goes undescribed.

#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "base/json_schema.h"
#include "compare/answer.h"
#include "compare/trend_answer.h"
#include "ops/gate/compare_gate.h"
#include "ops/gate/expectations.h"
#include "unit/undescribed_keys.h"

namespace nl::compare {
namespace {

using nlohmann::json;

template <class T>
bool follows_schema(const json& tree) {
  return JsonSchema(std::string(schema_text<T>()), "answer").validate(tree).has_value();
}

ChangeRow change(const std::string& name, int64_t new_ns) {
  ChangeRow row;
  row.name = name;
  row.op_class = "gemm";
  row.next = WorkAmount{{"void " + name + "<float>()"}, 2, 2, new_ns, 1.5};
  row.delta_ns = new_ns;
  row.statistics.emplace().ratio = INFINITY;
  row.statistics->ratio_interval = stats::Interval{1.5, INFINITY, 0.95};
  row.values = RunValues{{0}, {1}};
  row.metrics = {{"ipc", 1.0, std::nullopt, std::nullopt}};
  return row;
}

Comparison full_answer() {
  Comparison out;
  out.next.window_ns = 1000;
  out.base.strip.emplace(3);
  out.comparability.factors = {{"device", FactorState::kDifferent, 0.3, "A", "B", "other hardware"}};
  out.parts = {{PartKind::kIdle, "host_data", "the host reads data", 0, 100, 100, Statistics(), {}}};
  out.changes = {change("gemm", 600), change("flash_fwd", 300)};
  out.devices = {{"0", DeviceTimes{1, 2, 3, 4}, std::nullopt}};
  out.statistics.within_one_run.base = StepSpread{3, 1, 2, 3, stats::Interval{1, 3, 0.96}};
  out.across.emplace().rows = {{"mm", {1, 1, 0.5, 0.2}, {2, 1, 0.5, {}}, 2.0, {}, {}, {}, {}}};
  out.across->sides[1].device = AcrossDevice{"GPU", 1e12, {}, "a table", {}, {}, {}, {}};
  out.expectations = {{"window", "total", "1 ms", 1000, 1.0, true}};
  out.gate = {true, "no change that matters"};
  out.files = {{"html", "a.html", 10}};
  return out;
}

TEST(CompareAnswer, FollowsItsSchema) {
  EXPECT_TRUE(follows_schema<Comparison>(to_json_tree(Comparison())));
  json tree = to_json_tree(full_answer());
  EXPECT_TRUE(follows_schema<Comparison>(tree));
  EXPECT_TRUE(follows_schema<Comparison>(json::parse(tree.dump())));
  tree["changes"][0]["kind"] = "vanished";
  EXPECT_FALSE(follows_schema<Comparison>(tree));
}

TEST(CompareAnswer, HasNoKeyWithoutADescription) {
  EXPECT_EQ(undescribed_keys(schema_of<Comparison>()), std::vector<std::string>());
  EXPECT_EQ(undescribed_keys(schema_of<Trend>()), std::vector<std::string>());
}

TEST(CompareAnswer, SaysTheFieldsOfADeviceOnlyWhereThereIsOne) {
  const json sides = to_json_tree(full_answer())["across"]["sides"];
  EXPECT_FALSE(sides[0].contains("mfu"));
  EXPECT_TRUE(sides[1]["mfu"].is_null());
  EXPECT_EQ(sides[1]["device"], "GPU");
}

TEST(CompareLimits, SumWhatHasTheNameOfTheLimit) {
  const auto checks = ops::check_limits(full_answer(), {{"window", "total", "1 us", -1, 1000},
                                                        {"part", "idle host_data", "5%", 0.05, -1},
                                                        {"part", "idle", "10%", 0.1, -1},
                                                        {"kernel", "fwd<float>", "1 us", -1, 1000},
                                                        {"kernel", "softmax", "1 us", -1, 1000}});
  ASSERT_EQ(checks.size(), 5u);
  EXPECT_TRUE(checks[0].met);
  EXPECT_FALSE(checks[1].met);
  EXPECT_TRUE(checks[2].met);
  EXPECT_EQ(checks[3].value_ns, 300);
  EXPECT_FALSE(checks[4].value_ns);
  EXPECT_FALSE(checks[4].met);
}

TEST(CompareGate, FailsByALimitWhateverTheVerdict) {
  Comparison data = full_answer();
  data.verdict = stats::Verdict::kImprovement;
  EXPECT_TRUE(ops::judge_gate(data, {}).passed);
  data.expectations[0].met = false;
  EXPECT_FALSE(ops::judge_gate(data, {}).passed);
}

TEST(CompareGate, LetsOneRunASidePassOnlyUpToWhatIsAllowed) {
  Comparison data;
  data.ratio = 1.04;
  EXPECT_FALSE(ops::judge_gate(data, {}).passed);
  EXPECT_TRUE(ops::judge_gate(data, {.allow_untested = 0.05}).passed);
  EXPECT_FALSE(ops::judge_gate(data, {.allow_untested = 0.03}).passed);
}

}  // namespace
}  // namespace nl::compare
