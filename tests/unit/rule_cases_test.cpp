// Every built-in rule has two cases in tests/rules/<id>: it fires on positive.yaml and is silent on
// negative.yaml. An abstain.yaml, where there is one, must make it abstain.

#include <gtest/gtest.h>

#include <filesystem>

#include "analyze/rules/finding.h"
#include "analyze/rules/metric_case.h"
#include "analyze/rules/rule_set.h"
#include "base/files.h"
#include "shared_engine.h"
#include "source_folder.h"

namespace nl::analyze {
namespace {

const std::string kCases = source_folder() + "/tests/rules/";
const std::string kRules = source_folder() + "/rules/";

const RuleSet& built_in() {
  static const RuleSet kSet = [] {
    auto set = load_rules(SharedEngine::connection(), {});
    EXPECT_TRUE(set) << (set ? "" : set.error().message + " " + set.error().hint);
    return set ? std::move(*set) : RuleSet();
  }();
  return kSet;
}

Evaluation evaluate_case(const Rule& rule, const std::string& name) {
  const std::string path = kCases + rule.id + "/" + name;
  const auto text = read_file(path);
  EXPECT_TRUE(text) << path << " is missing";
  const auto metrics = parse_metric_case(text ? *text : "", path);
  EXPECT_TRUE(metrics) << (metrics ? "" : metrics.error().message);
  return metrics ? evaluate_rules({rule}, *metrics) : Evaluation();
}

std::string reasons(const Evaluation& evaluation) {
  std::string out;
  for (const auto& one : evaluation.abstentions)
    out += one.rule + ": " + one.metric.value_or("") + " " + one.reason + "\n";
  return out;
}

TEST(RuleCases, ThereAreRules) {
  EXPECT_GE(built_in().rules.size(), 22u);
}

TEST(RuleCases, EveryRuleFiresOnItsPositiveCase) {
  for (const auto& rule : built_in().rules) {
    const auto evaluation = evaluate_case(rule, "positive.yaml");
    ASSERT_EQ(evaluation.findings.size(), 1u) << rule.id << "\n" << reasons(evaluation);
    const Finding& finding = evaluation.findings[0];
    EXPECT_GE(finding.at_stake_ns, 0) << rule.id;
    for (const auto& evidence : finding.evidence) {
      EXPECT_TRUE(evidence.value) << rule.id << ": " << evidence.of << ": " << evidence.value.reason();
    }
    for (const auto& suggestion : finding.suggestions) {
      EXPECT_GE(suggestion.gain_ns.value_or(0), 0) << rule.id << ": " << suggestion.text;
    }
  }
}

TEST(RuleCases, EveryRuleIsSilentOnItsNegativeCase) {
  for (const auto& rule : built_in().rules) {
    const auto evaluation = evaluate_case(rule, "negative.yaml");
    EXPECT_TRUE(evaluation.findings.empty()) << rule.id;
    EXPECT_TRUE(evaluation.abstentions.empty()) << rule.id << "\n" << reasons(evaluation);
  }
}

TEST(RuleCases, EveryRuleAbstainsWithoutMetricsAndWhereItsCaseSaysSo) {
  for (const auto& rule : built_in().rules) {
    const auto nothing = evaluate_rules({rule}, MetricSet());
    EXPECT_EQ(nothing.abstentions.size(), 1u) << rule.id;
    if (!path_exists(kCases + rule.id + "/abstain.yaml")) continue;
    EXPECT_EQ(evaluate_case(rule, "abstain.yaml").abstentions.size(), 1u) << rule.id;
  }
}

/// Each metric that a rule cannot do without makes it abstain when it is taken away, and is named.
TEST(RuleCases, EveryRuleNamesTheMetricThatIsMissing) {
  for (const auto& rule : built_in().rules) {
    const std::string path = kCases + rule.id + "/positive.yaml";
    const MetricSet full = parse_metric_case(read_file(path).value(), path).value();
    for (const Metric metric : rule.condition.needed()) {
      MetricSet less = full;
      less.absent(metric, "taken away");
      const auto evaluation = evaluate_rules({rule}, less);
      ASSERT_EQ(evaluation.abstentions.size(), 1u) << rule.id;
      EXPECT_EQ(evaluation.abstentions[0].metric, metric_info(metric).id) << rule.id;
      EXPECT_EQ(evaluation.abstentions[0].reason, "taken away") << rule.id;
    }
  }
}

TEST(RuleCases, EveryFolderOfCasesHasARule) {
  for (const auto& name : list_folder(kCases)) {
    EXPECT_NE(built_in().find(name), nullptr) << name;
    for (const auto& file : list_folder(kCases + name)) {
      EXPECT_TRUE(file == "positive.yaml" || file == "negative.yaml" || file == "abstain.yaml") << file;
    }
  }
}

/// A rule is found under its name, argues its threshold and cites public pages.
TEST(RuleCases, RuleFilesAreInOrder) {
  for (const auto& rule : built_in().rules) {
    const auto text = read_file(kRules + rule.id + ".yaml");
    ASSERT_TRUE(text) << rule.id;
    EXPECT_TRUE(text->starts_with("# Threshold: ")) << rule.id;
    for (const auto& reference : rule.references) EXPECT_TRUE(reference.starts_with("https://")) << reference;
    EXPECT_EQ(rule.origin, kBuiltIn);
  }
}

}  // namespace
}  // namespace nl::analyze
