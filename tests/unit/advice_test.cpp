// What triage and suggest are made of: parts that add up, reasons against a record, actions by their gain.

#include <gtest/gtest.h>

#include "ops/advice/actions.h"
#include "ops/advice/gaps_of_capture.h"
#include "ops/advice/time_parts.h"
#include "ops/advice/trust.h"
#include "ops/advice/verdict.h"

namespace nl::ops {
namespace {

using analyze::Analysis;
using nlohmann::json;

constexpr int64_t kWindowNs = 1000;

analyze::DeviceName device(int32_t number) {
  return {.device = {.number = number}};
}

analyze::FindingOnDevice found(const std::string& rule, int32_t on, int64_t promised, int64_t gain) {
  analyze::FindingOnDevice one{.on = device(on)};
  one.finding.rule = rule;
  one.finding.title = rule;
  one.finding.at_stake_ns = gain;
  one.finding.promised_ns = promised;
  one.finding.evidence = {{.of = "m", .value = 0.5, .unit = "ratio", .text = "Share of something."}};
  one.finding.suggestions = {{.suggestion = 1, .text = "look"},
                             {.suggestion = 2, .text = "do", .gain_ns = gain}};
  return one;
}

/// Two devices, of which the second is limited by compute.
Analysis analysis_of_two() {
  Analysis data;
  data.window = {.name = "steady", .total_ns = kWindowNs};
  data.devices = {{.on = device(0)}, {.on = device(1)}};
  data.limiters = {{device(1), "compute", 700, 0.7, "kernels"}, {device(1), "queued", 300, 0.3, "no reason"}};
  return data;
}

json document_with(const json& dropped, int64_t seen) {
  int64_t lost = 0;
  for (const auto& [reason, n] : dropped.items()) lost += n.get<int64_t>();
  return {{"capture",
           {{"counts",
             {{"seen", seen}, {"stored", seen - lost}, {"folded", json::object()}, {"dropped", dropped}}},
            {"health", json::object()}}}};
}

Trust trust_with(const Analysis& data, const json& document) {
  const std::optional<IterationTimes> iterations;
  const TimeParts parts = time_parts(data, {});
  return trust_of({document, data, parts, iterations, {}});
}

// ---- Parts

TEST(TimeParts, AreTheLimiters) {
  const TimeParts parts = time_parts(analysis_of_two(), {});
  ASSERT_EQ(parts.rows.size(), 2u);
  EXPECT_EQ(parts.rows[0].time_ns + parts.rows[1].time_ns, *parts.whole_ns);
  EXPECT_EQ(parts.rows[0].kind, PartKind::kWork);
  EXPECT_EQ(parts.rows[1].kind, PartKind::kUnknown);
  EXPECT_FALSE(parts.mean_of_devices);
}

TEST(TimeParts, OfAJobAreMeansOverItsDevices) {
  Analysis data = analysis_of_two();
  data.devices.clear();
  for (const int32_t rank : {0, 0, 1, 1})
    data.devices.push_back({.on = {.device = device(rank).device, .rank = rank}});
  EXPECT_EQ(time_parts(data, {}).mean_of_devices, 4);
  data.devices.back().on.rank.reset();
  EXPECT_FALSE(time_parts(data, {}).mean_of_devices) << "the limiters are of one device then";
}

TEST(TimeParts, AreAbsentWhereIdleTimeIsNone) {
  Analysis data = analysis_of_two();
  data.undecided = {"graph_nodes_missing", "kernels inside of graphs are not all recorded"};
  const TimeParts parts = time_parts(data, {});
  EXPECT_TRUE(parts.rows.empty());
  EXPECT_FALSE(parts.whole_ns);
  EXPECT_EQ(parts.absent, data.undecided->text);
}

TEST(TimeParts, OfManyLayersKeepTheirSum) {
  Analysis data;
  auto& layers = data.layers.emplace();
  layers.count = layers.timed = 8;
  layers.total_ns = 36;
  for (int64_t ns = 1; ns <= 8; ns++) layers.classes["class" + std::to_string(ns)] = ns;
  const TimeParts parts = time_parts(data, {});
  EXPECT_EQ(parts.of, WholeKind::kLayers);
  ASSERT_EQ(parts.rows.size(), 6u);
  EXPECT_EQ(parts.rows[0].time_ns, 8);
  EXPECT_EQ(parts.rows.back().what, "others");
  EXPECT_EQ(parts.rows.back().time_ns, 1 + 2 + 3);
}

TEST(TimeParts, OfNothingHaveAReason) {
  const TimeParts parts = time_parts({}, {});
  EXPECT_EQ(parts.of, WholeKind::kNone);
  EXPECT_TRUE(parts.absent);
}

// ---- Verdict

TEST(Verdict, NamesTheDeviceOfSeveral) {
  const Analysis data = analysis_of_two();
  const std::string text = verdict_sentence(data, time_parts(data, {}), {});
  EXPECT_NE(text.find("compute"), std::string::npos);
  EXPECT_NE(text.find("device 1"), std::string::npos);
}

TEST(Verdict, IsNoneOfACaptureThatCannotTell) {
  Analysis data = analysis_of_two();
  data.undecided = {"little_work", "the window holds too little device work to judge"};
  EXPECT_EQ(verdict_of(data), nullptr);
  EXPECT_EQ(verdict_sentence(data, time_parts(data, {}), {}).find("limited by"), std::string::npos);
}

// ---- Trust

TEST(Trust, IsGoodWhereNothingSpeaksAgainstIt) {
  const Trust trust = trust_with(analysis_of_two(), document_with(json::object(), 100));
  EXPECT_EQ(trust.level, TrustLevel::kGood);
  EXPECT_TRUE(trust.reasons.empty());
}

TEST(Trust, FallsWithWhatWasLost) {
  const Analysis data = analysis_of_two();
  EXPECT_EQ(trust_with(data, document_with({{"no_time", 1}}, 1000)).level, TrustLevel::kLimited);
  EXPECT_EQ(trust_with(data, document_with({{"no_time", 20}}, 1000)).level, TrustLevel::kPoor);
  json wrong = document_with(json::object(), 100);
  wrong["capture"]["counts"]["stored"] = 99;
  EXPECT_EQ(trust_with(data, wrong).level, TrustLevel::kPoor);
}

TEST(Trust, TellsTheWorstFirst) {
  Analysis data = analysis_of_two();
  data.notes = {
      {"profiler_cost", "slow"}, {"queued_before_capture", "harmless"}, {"graph_capture", "no run"}};
  const Trust trust = trust_with(data, document_with(json::object(), 100));
  ASSERT_EQ(trust.reasons.size(), 2u);
  EXPECT_EQ(trust.level, TrustLevel::kPoor);
  EXPECT_EQ(trust.reasons[0].id, "graph_capture");
}

TEST(Trust, NamesAFaultWhateverItCounts) {
  json document = document_with(json::object(), 100);
  document["capture"]["health"] = {{"damaged_bytes", 4096}, {"time_zone_unknown", 1}};
  const Trust trust = trust_with(analysis_of_two(), document);
  ASSERT_EQ(trust.reasons.size(), 1u);
  EXPECT_EQ(trust.reasons[0].text, "The file has faults, for example damaged_bytes (4,096).");
}

TEST(Trust, CountsInWordsThatAgree) {
  Analysis data = analysis_of_two();
  data.devices[0].untimed = 1;
  data.clocks.early_starts.record_corruption = 1;
  const Trust trust = trust_with(data, document_with(json::object(), 100));
  ASSERT_EQ(trust.reasons.size(), 2u);
  EXPECT_TRUE(trust.reasons[0].text.starts_with("1 kernel starts before its launch,"));
  EXPECT_EQ(trust.reasons[1].text, "1 record of device work has no time.");
}

TEST(Trust, OfAFileWithoutTimesIsPoor) {
  EXPECT_EQ(trust_with({}, document_with(json::object(), 1)).level, TrustLevel::kPoor);
}

// ---- Actions

TEST(Actions, ComeByTheGainThatNoOtherPromises) {
  Analysis data = analysis_of_two();
  data.findings = {found("shared", 1, 0, 500), found("small", 1, 100, 400), found("large", 1, 300, 300)};
  data.findings[0].finding.shared_with = {"large"};
  analyze::FindingOnDevice unknown = found("unknown", 1, 0, 0);
  unknown.finding.suggestions = {{.suggestion = 1, .text = "look", .gain_ns = Absent{"no shapes"}}};
  data.findings.push_back(unknown);
  const auto actions = actions_of(data);
  ASSERT_EQ(actions.size(), 4u);
  EXPECT_EQ(actions[0].rule, "large");
  EXPECT_EQ(actions[0].suggestion, 2);
  EXPECT_FALSE(actions[0].at_most);
  EXPECT_EQ(actions[1].rule, "small");
  EXPECT_EQ(*actions[1].gain_ns, 100);
  EXPECT_TRUE(actions[1].at_most) << "others promise the rest";
  EXPECT_EQ(actions[1].alone_ns, 400);
  EXPECT_EQ(actions[2].rule, "unknown");
  EXPECT_EQ(actions[2].gain_ns.reason(), "no shapes");
  EXPECT_FALSE(actions[2].share);
  EXPECT_EQ(actions[3].rule, "shared");
  EXPECT_EQ(*actions[3].gain_ns, 0);
}

TEST(Actions, KnowNoGainOfTimeThatIsNoPartOfTheWindow) {
  Analysis data = analysis_of_two();
  data.findings = {found("step_jitter", 1, 0, 500), found("nothing", 1, 0, 0)};
  data.findings[1].finding.suggestions = {{.suggestion = 1, .text = "do", .gain_ns = 0}};
  const auto actions = actions_of(data);
  ASSERT_EQ(actions.size(), 2u);
  EXPECT_EQ(actions[0].rule, "step_jitter");
  EXPECT_FALSE(actions[0].gain_ns);
  EXPECT_FALSE(actions[0].share);
  EXPECT_EQ(actions[0].alone_ns, 500);
  EXPECT_EQ(gain_words(actions[0]), "gain not known: " + actions[0].gain_ns.reason());
  EXPECT_EQ(gain_words(actions[1]), "saves nothing of the window");
}

TEST(Actions, AreOnlyWhatSomebodyCanDo) {
  Analysis data = analysis_of_two();
  data.findings = {found("rule", 1, 600, 600), found("rule", 0, 500, 500), found("other", 1, 100, 100)};
  data.findings[0].finding.suggestions.clear();
  data.findings[2].finding.suggestions.clear();
  const auto actions = actions_of(data);
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(actions[0].on, device(0)) << "no suggestion fits the other device";
  EXPECT_EQ(actions[0].devices, 2);
  EXPECT_EQ(actions[0].what_to_do, "do");
}

TEST(Actions, NameARuleOnceOnTheDeviceOfTheLimiter) {
  Analysis data = analysis_of_two();
  data.findings = {found("rule", 0, 600, 600), found("rule", 1, 500, 500)};
  const auto actions = actions_of(data);
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(actions[0].devices, 2);
  EXPECT_EQ(actions[0].on, device(1));
  EXPECT_EQ(*actions[0].gain_ns, 500);
}

// ---- Rules that could not be asked

TEST(SilentRules, SayWhatToRecordWithTheProfilerAtHand) {
  Analysis data;
  data.devices = {{.on = device(0)}};
  data.abstentions = {{{"a", 1, "mfu", "no shapes in the source"}, device(0)},
                      {{"b", 1, "mfu", "no shapes in the source"}, device(0)},
                      {{"c", 1, "comm_overlap", "comm_time is 0"}, device(0)}};
  const SilentRules kineto = silent_rules(data, "kineto");
  EXPECT_EQ(kineto.count, 3);
  ASSERT_EQ(kineto.missing.size(), 1u);
  EXPECT_EQ(kineto.missing[0].rules, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(silent_rules(data, "nsys").missing.empty()) << "it cannot record shapes";
  EXPECT_FALSE(silent_rules({}, "ncu").count) << "no rule was asked";
}

TEST(SilentRules, AreThoseThatNoDeviceAnswered) {
  Analysis data = analysis_of_two();
  data.abstentions = {{{"a", 1, "mfu", "no shapes in the source"}, device(0)},
                      {{"b", 1, "mfu", "no shapes in the source"}, device(0)},
                      {{"b", 1, "mfu", "no shapes in the source"}, device(1)}};
  const SilentRules rules = silent_rules(data, "kineto");
  EXPECT_EQ(rules.count, 1);
  ASSERT_EQ(rules.missing.size(), 1u);
  EXPECT_EQ(rules.missing[0].rules, std::vector<std::string>{"b"});
  data.abstentions.pop_back();
  EXPECT_EQ(silent_rules(data, "kineto").count, 0);
  EXPECT_FALSE(silent_rules(data, "kineto").reason);
}

}  // namespace
}  // namespace nl::ops
