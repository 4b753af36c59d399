// Arithmetic of promises and gains.

#include "analyze/rules/gain.h"

#include <gtest/gtest.h>

#include "analyze/rules/proof.h"
#include "analyze/rules/rule_set.h"
#include "shared_engine.h"

namespace nl::analyze {
namespace {

constexpr char kRule[] = R"(
id: r
version: 3
title: Data
condition: idle_host_data_time > 0
confidence: low
evidence:
  - {metric: idle_host_data_time, text: a}
  - {metric: total_time, text: b}
at_stake: idle_host_data_time
suggestions:
  - {text: first, gain_at_most: idle_host_data_time}
  - {text: second, gain_at_most: 0.5 * idle_host_data_time}
references: [https://example.org]
)";

const Rule& rule() {
  static const Rule kParsed = [] {
    auto readings = read_rules(SharedEngine::connection(), {{"r.yaml", kRule}});
    EXPECT_TRUE(readings && (*readings)[0].rule);
    return *(*readings)[0].rule;
  }();
  return kParsed;
}

MetricSet window(int64_t total, int64_t data_ns) {
  MetricSet set;
  set.set(Metric::total_time, total);
  set.set(Metric::idle_host_data_time, data_ns);
  set.absent(Metric::idle_between_runs_time, "the run has device work");
  set.absent(Metric::idle_setup_time, "the run has device work");
  return set;
}

Finding finding_in(const MetricSet& metrics) {
  const Evaluation evaluation = evaluate_rules({rule()}, metrics);
  EXPECT_EQ(evaluation.findings.size(), 1u);
  return evaluation.findings.at(0);
}

Known<Gain> gain(const MetricSet& before, double unit_before, const MetricSet& after, double unit_after,
                 std::optional<double> least = {}, int64_t suggestion = 0) {
  return gain_of(rule(), finding_in(before), suggestion, {before, unit_before}, {after, unit_after}, least);
}

TEST(Gain, IsThatOfOneUnitOfWork) {
  // 10 steps of 100 with 40 of data loading each; then 70 with 10.
  const auto one = gain(window(1000, 400), 100, window(700, 100), 70);
  ASSERT_TRUE(one);
  EXPECT_DOUBLE_EQ(one->promised_ns, 40);
  EXPECT_DOUBLE_EQ(*one->own_ns, 30);
  EXPECT_DOUBLE_EQ(one->gained_ns, 30);
  EXPECT_DOUBLE_EQ(one->ratio, 0.75);
  EXPECT_TRUE(one->held);
  EXPECT_TRUE(one->covers_whole);
  EXPECT_EQ(one->rule_version, 3);
}

TEST(Gain, NumberOfStepsDoesNotMatter) {
  const auto one = gain(window(2000, 800), 100, window(700, 100), 70);
  ASSERT_TRUE(one);
  EXPECT_DOUBLE_EQ(one->promised_ns, 40);
  EXPECT_DOUBLE_EQ(*one->own_ns, 30);
}

TEST(Gain, TimeThatOnlyMovedIsNotGained) {
  const auto one = gain(window(1000, 400), 100, window(900, 0), 90);
  ASSERT_TRUE(one);
  EXPECT_DOUBLE_EQ(*one->own_ns, 40);
  EXPECT_DOUBLE_EQ(one->gained_ns, 10) << "the step is only 10 shorter: something else takes the rest";
}

TEST(Gain, WhatOtherChangesBroughtIsNotTheRules) {
  const auto one = gain(window(1000, 400), 100, window(200, 0), 20);
  ASSERT_TRUE(one);
  EXPECT_DOUBLE_EQ(one->gained_ns, 40);
  EXPECT_TRUE(one->held);
  EXPECT_FALSE(one->covers_whole) << "80 were gained as a whole";
}

TEST(Gain, ABoundBelowTheGainDoesNotHold) {
  const auto one = gain(window(1000, 400), 100, window(700, 100), 70, {}, 2);
  ASSERT_TRUE(one);
  EXPECT_DOUBLE_EQ(one->promised_ns, 20);
  EXPECT_FALSE(one->held);
  EXPECT_TRUE(gain(window(1000, 400), 100, window(700, 100), 70, 15.0, 2)->held) << "within the noise";
}

TEST(Gain, ALossHoldsAndCountsAsLoss) {
  const auto one = gain(window(1000, 400), 100, window(1200, 500), 120);
  ASSERT_TRUE(one);
  EXPECT_LT(one->ratio, 0);
  EXPECT_TRUE(one->held);
}

TEST(Gain, TheWholeIsTakenWhereTheRunAfterCannotTell) {
  MetricSet after = window(700, 0);
  after.absent(Metric::idle_host_data_time, "no launches");
  const auto one = gain(window(1000, 400), 100, after, 70);
  ASSERT_TRUE(one);
  EXPECT_FALSE(one->own_ns);
  EXPECT_DOUBLE_EQ(one->gained_ns, 30);
  EXPECT_TRUE(one->note);
}

TEST(Gain, TimeBetweenRunsOfASessionIsNoWork) {
  MetricSet before = window(1000, 100), after = window(1000, 0);
  before.set(Metric::idle_between_runs_time, int64_t{800});
  after.set(Metric::idle_between_runs_time, int64_t{900});
  const auto one = gain(before, 20, after, 10);
  ASSERT_TRUE(one);
  EXPECT_DOUBLE_EQ(one->promised_ns, 10) << "half of the 200 in which the session ran";
}

TEST(Gain, NothingPromisedIsNoGain) {
  Finding silent = finding_in(window(1000, 400));
  for (auto& suggestion : silent.suggestions) suggestion.gain_ns = Absent{"unknown"};
  const MetricSet metrics = window(1000, 400);
  EXPECT_FALSE(gain_of(rule(), silent, 0, {metrics, 100}, {metrics, 90}, {}));
}

TEST(RuleVerdict, NeedsPairsAndAGoodPart) {
  EXPECT_EQ(verdict_on(0, 0, {}), RuleVerdict::kUnproved);
  EXPECT_EQ(verdict_on(1, 1, 0.01), RuleVerdict::kHeld) << "one pair is no median";
  EXPECT_EQ(verdict_on(1, 0, 1.2), RuleVerdict::kWrong);
  EXPECT_EQ(verdict_on(5, 5, 0.3), RuleVerdict::kProved);
  EXPECT_EQ(verdict_on(5, 5, 0.29), RuleVerdict::kTooGenerous);
  EXPECT_EQ(verdict_on(5, 4, 0.8), RuleVerdict::kWrong);
  EXPECT_EQ(verdict_on(20, 19, 0.8), RuleVerdict::kProved) << "95 %";
}

TEST(RuleScores, GatherGainsByRule) {
  const auto scores = rule_scores({{.rule = "b", .ratio = 0.5, .held = true},
                                   {.rule = "a", .ratio = 0.2, .held = true, .covers_whole = true},
                                   {.rule = "b", .ratio = 1.5, .held = false},
                                   {.rule = "b", .ratio = 0.7, .held = true}});
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_EQ(scores[0].rule, "a");
  EXPECT_EQ(scores[0].covers_whole, 1);
  EXPECT_EQ(scores[1].pairs, 3);
  EXPECT_EQ(scores[1].held, 2);
  EXPECT_DOUBLE_EQ(*scores[1].median_ratio, 0.7);
  EXPECT_EQ(scores[1].verdict, RuleVerdict::kWrong);
  EXPECT_EQ(proof_text(scores[1]), "held in 2 of 3 pairs, median 0.70 gained of promised");
}

TEST(Proof, CountsForOneVersionOfARule) {
  const auto proofs = parse_proofs(
      "rules:\n  - {rule: r, version: 3, pairs: 6, held: 6, covers_whole: 5, median_ratio: 0.52}\n", "p");
  ASSERT_TRUE(proofs);
  EXPECT_EQ(proof_of(rule(), *proofs), "held in 6 of 6 pairs, median 0.52 gained of promised");
  Rule changed = rule();
  changed.version = 4;
  EXPECT_EQ(proof_of(changed, *proofs), "unproved");
  for (auto& suggestion : changed.suggestions) suggestion.gain.reset();
  EXPECT_EQ(proof_of(changed, *proofs), "promises no gain");
}

TEST(Proof, FaultsAreNamed) {
  EXPECT_FALSE(parse_proofs("rules: 1", "p"));
  EXPECT_FALSE(parse_proofs("rules:\n  - {rule: r}\n", "p"));
  EXPECT_FALSE(parse_proofs(
      "rules:\n  - {rule: r, version: x, pairs: 6, held: 6, covers_whole: 5, median_ratio: 1}\n", "p"));
}

TEST(Proof, TheRecordNamesRulesOfThisVersion) {
  const auto proofs = built_in_proofs();
  ASSERT_TRUE(proofs) << proofs.error().message;
  const auto rules = load_rules(SharedEngine::connection(), {});
  ASSERT_TRUE(rules);
  for (const RuleScore& proof : *proofs) {
    const Rule* rule = rules->find(proof.rule);
    ASSERT_NE(rule, nullptr) << proof.rule;
    EXPECT_EQ(rule->version, proof.rule_version)
        << proof.rule << " was changed: run tests/full/gains --write";
    EXPECT_NE(rule->proof, "unproved");
    EXPECT_NE(proof.verdict, RuleVerdict::kWrong) << proof.rule;
    EXPECT_NE(proof.verdict, RuleVerdict::kTooGenerous) << proof.rule;
  }
}

}  // namespace
}  // namespace nl::analyze
