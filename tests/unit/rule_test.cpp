#include "analyze/rules/rule.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "analyze/rules/finding.h"
#include "analyze/rules/metric_case.h"
#include "analyze/rules/rule_set.h"
#include "base/files.h"
#include "base/json.h"
#include "shared_engine.h"

namespace nl::analyze {
namespace {

constexpr char kGood[] =
    "id: r\n"
    "version: 3\n"
    "title: A title\n"
    "condition: idle_time / total_time > 0.2\n"
    "confidence: medium\n"
    "evidence:\n"
    "  - metric: idle_time\n"
    "    text: One.\n"
    "  - expression: busy_time / total_time\n"
    "    text: Two.\n"
    "at_stake: idle_time\n"
    "suggestions:\n"
    "  - text: First.\n"
    "    gain: 0.5 * idle_time\n"
    "  - text: Second.\n"
    "    gain_at_most: idle_time\n"
    "  - text: Third.\n"
    "references: [https://example.org]\n";

store::Connection& rule_connection() {
  return SharedEngine::connection();
}

RuleReading read_rule_text(const std::string& text) {
  return std::move(read_rules(rule_connection(), {{"f.yaml", text}}).value()[0]);
}

/// The good rule with one piece replaced.
RuleReading changed(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return read_rule_text(text.replace(at, from.size(), to));
}

int first_line(const RuleReading& reading) {
  EXPECT_FALSE(reading.rule.has_value());
  return reading.faults.empty() ? 0 : reading.faults[0].line;
}

Rule good() {
  return *read_rule_text(kGood).rule;
}

MetricSet metrics(double idle) {
  MetricSet set;
  set.set(Metric::total_time, int64_t{1000});
  set.set(Metric::idle_time, Known<double>(idle));
  set.set(Metric::busy_time, Known<double>(1000 - idle));
  return set;
}

TEST(Rule, IsReadFromYaml) {
  const Rule rule = good();
  EXPECT_EQ(rule.id, "r");
  EXPECT_EQ(rule.version, 3);
  EXPECT_EQ(rule.confidence, Confidence::kMedium);
  EXPECT_EQ(rule.condition.text(), "idle_time / total_time > 0.2");
  ASSERT_EQ(rule.evidence.size(), 2u);
  EXPECT_EQ(rule.evidence[1].value.unit().text(), "ratio");
  ASSERT_EQ(rule.suggestions.size(), 3u);
  EXPECT_FALSE(rule.suggestions[0].at_most);
  EXPECT_TRUE(rule.suggestions[1].at_most);
  EXPECT_FALSE(rule.suggestions[2].gain.has_value());
  EXPECT_EQ(rule.references, std::vector<std::string>{"https://example.org"});
  EXPECT_EQ(rule.origin, "f.yaml");
}

TEST(Rule, EveryKeyIsNeeded) {
  EXPECT_EQ(changed("id:", "x:").faults.size(), 2u) << "unknown and missing";
  for (const char* key : {"version", "title", "condition", "confidence", "at_stake", "references"}) {
    const auto reading = changed("\n" + std::string(key) + ":", "\nx:");
    EXPECT_EQ(reading.faults.size(), 2u) << key << " unknown and missing";
  }
}

TEST(Rule, FaultsNameTheirLine) {
  EXPECT_EQ(first_line(changed("id: r", "id: R")), 1);
  EXPECT_EQ(first_line(changed("version: 3", "version: 0")), 2);
  EXPECT_EQ(first_line(changed("version: 3", "version: 1.5")), 2);
  EXPECT_EQ(first_line(changed("title: A title", "title: [a]")), 3);
  EXPECT_EQ(first_line(changed("title: A title", "title: \"a\\e[31m\"")), 3);
  EXPECT_EQ(first_line(changed("title: A title", "title:")), 3);
  EXPECT_EQ(first_line(changed("> 0.2", "")), 4) << "a condition is no number";
  EXPECT_EQ(first_line(changed("confidence: medium", "confidence: sure")), 5);
  EXPECT_EQ(first_line(changed("metric: idle_time", "metric: idle_time / total_time")), 7);
  EXPECT_EQ(first_line(changed("metric: idle_time", "metric: no_such")), 7);
  EXPECT_EQ(first_line(changed("busy_time / total_time", "busy_time > 1")), 9);
  EXPECT_EQ(first_line(changed("at_stake: idle_time", "at_stake: h2d_bytes")), 11);
  EXPECT_EQ(first_line(changed("at_stake: idle_time", "at_stake: idle_time / total_time")), 11);
  EXPECT_EQ(first_line(changed("gain: 0.5 * idle_time", "gain: kernel_count")), 14);
  EXPECT_EQ(first_line(changed("gain_at_most: idle_time", "gain: idle_time\n    gain_at_most: idle_time")),
            17);
  EXPECT_EQ(first_line(changed("[https://example.org]", "[]")), 18);
  EXPECT_EQ(first_line(changed("version: 3", "version: 3\nversion: 4")), 3);
  EXPECT_EQ(first_line(read_rule_text("")), 1);
  EXPECT_EQ(first_line(read_rule_text("- a")), 1);
  EXPECT_EQ(first_line(read_rule_text("a: [")), 1);
}

TEST(Rule, ExpressionFaultsNameTheColumn) {
  const auto reading = changed("idle_time / total_time > 0.2", "total_time > 1 and idle_tme > 2");
  ASSERT_EQ(reading.faults.size(), 1u);
  EXPECT_EQ(reading.faults[0].line, 4);
  EXPECT_EQ(reading.faults[0].column, 31);
  EXPECT_TRUE(rule_error("f", reading.faults[0]).message.starts_with("f:4:31: no metric is called idle_tme"));
  const auto folded = changed("idle_time / total_time > 0.2", ">-\n  total_time > 1\n  and idle_tme > 2");
  ASSERT_EQ(folded.faults.size(), 1u);
  EXPECT_EQ(folded.faults[0].column, 0) << "not in one line";
  EXPECT_NE(folded.faults[0].what.find("character 20"), std::string::npos) << folded.faults[0].what;
}

TEST(Rule, AllFaultsAreNamed) {
  EXPECT_EQ(
      read_rule_text("id: R\nversion: x\ntitle: t\ncondition: 1\nconfidence: high\nfoo: 1\n").faults.size(),
      8u);
}

TEST(Rule, TwoEvidencesAndTwoSuggestionsAreNeeded) {
  EXPECT_EQ(first_line(changed("  - expression: busy_time / total_time\n    text: Two.\n", "")), 7);
  EXPECT_FALSE(changed("  - text: Second.\n    gain_at_most: idle_time\n  - text: Third.\n", "").rule);
}

TEST(Rule, EvidenceMustBeIndependent) {
  EXPECT_FALSE(changed("busy_time / total_time", "idle_time").rule) << "the same metric twice";
  EXPECT_FALSE(changed("busy_time / total_time", "idle_time * 2").rule);
  EXPECT_FALSE(changed("busy_time / total_time", "idle_time / total_time").rule)
      << "the first one adds nothing";
  EXPECT_TRUE(changed("metric: idle_time", "expression: idle_time / total_time").rule)
      << "a common denominator";
  EXPECT_FALSE(changed("busy_time / total_time", "1 + 1").rule) << "a constant shows nothing";
}

TEST(Rule, SurvivesEveryTruncationAndManyChangedBytes) {
  const std::string text = kGood;
  std::vector<RuleText> texts;
  for (size_t end = 0; end <= text.size(); end++) texts.push_back({"f", text.substr(0, end)});
  for (size_t at = 0; at < text.size(); at += 3) {
    for (const char c : {'\0', '\xff', '[', '{', '&', '*', ':', '\t', '\'', '(', '\n'}) {
      texts.push_back({"f", text});
      texts.back().text[at] = c;
    }
  }
  const auto readings = read_rules(rule_connection(), texts);
  ASSERT_TRUE(readings) << readings.error().message;
  for (const auto& reading : *readings) EXPECT_NE(reading.rule.has_value(), !reading.faults.empty());
}

// ---- Findings

TEST(Findings, CarryEvidenceAndGains) {
  const auto evaluation = evaluate_rules({good()}, metrics(400));
  ASSERT_EQ(evaluation.findings.size(), 1u);
  const Finding& finding = evaluation.findings[0];
  EXPECT_EQ(finding.at_stake_ns, 400);
  EXPECT_EQ(*finding.evidence[1].value, 0.6);
  EXPECT_EQ(*finding.suggestions[0].gain_ns, 200);
  EXPECT_EQ(*finding.suggestions[1].gain_ns, 400);
  EXPECT_FALSE(finding.suggestions[2].gain_ns);
  EXPECT_TRUE(evaluate_rules({good()}, metrics(200)).findings.empty()) << "not above its threshold";
}

TEST(Findings, MostAtStakeComesFirstThenTheId) {
  std::vector<Rule> rules(4, good());
  rules[0].id = "d";
  rules[1].id = "b";
  rules[2].id = "a";
  rules[3].id = "c";
  rules[3].at_stake = std::get<Expression>(read_expressions(rule_connection(), {"total_time"}).value()[0]);
  const auto evaluation = evaluate_rules(rules, metrics(400));
  std::string order;
  for (const auto& finding : evaluation.findings) order += finding.rule;
  EXPECT_EQ(order, "cabd");
}

TEST(Findings, ARuleAbstainsEvenIfItsConditionCouldDo) {
  Rule rule = good();
  rule.condition = std::get<Expression>(
      read_expressions(rule_connection(), {"idle_time > 1 or queue_median > 1"}).value()[0]);
  auto set = metrics(400);
  set.absent(Metric::queue_median, "no launches");
  const auto evaluation = evaluate_rules({rule}, set);
  EXPECT_TRUE(evaluation.findings.empty());
  ASSERT_EQ(evaluation.abstentions.size(), 1u);
  EXPECT_EQ(evaluation.abstentions[0].metric, "queue_median");
  EXPECT_EQ(evaluation.abstentions[0].reason, "no launches");
}

TEST(Findings, AnAbsentGainIsNoReasonToAbstain) {
  Rule rule = good();
  rule.suggestions[0].gain =
      std::get<Expression>(read_expressions(rule_connection(), {"idle_time * mfu"}).value()[0]);
  auto set = metrics(400);
  set.absent(Metric::mfu, "unknown device");
  const auto finding = evaluate_rules({rule}, set).findings.at(0);
  EXPECT_EQ(finding.suggestions[0].gain_ns.reason(), "mfu: unknown device");
  const auto json = to_json_tree(finding);
  EXPECT_TRUE(json["suggestions"][0]["gain_ns"].is_null());
  EXPECT_EQ(json["suggestions"][0]["absent_reason"], "mfu: unknown device");
  EXPECT_EQ(json["suggestions"][1]["gain_ns"], 400);
}

TEST(Findings, TwoEvidencesMustBeThere) {
  auto set = metrics(400);
  set.absent(Metric::busy_time, "gone");
  const auto evaluation = evaluate_rules({good()}, set);
  ASSERT_EQ(evaluation.abstentions.size(), 1u);
  EXPECT_EQ(evaluation.abstentions[0].metric, "busy_time");
}

TEST(Findings, DivisionByZeroMakesARuleAbstain) {
  auto set = metrics(0);
  set.set(Metric::total_time, int64_t{0});
  const auto evaluation = evaluate_rules({good()}, set);
  ASSERT_EQ(evaluation.abstentions.size(), 1u);
  EXPECT_FALSE(evaluation.abstentions[0].metric);
  EXPECT_TRUE(evaluation.abstentions[0].reason.starts_with("division by zero"));
  EXPECT_TRUE(to_json_tree(evaluation)["abstentions"][0]["metric"].is_null());
}

// ---- Folders of rules

class RuleFolder : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "rules-" + std::to_string(::getpid());
    ASSERT_TRUE(make_folders(folder_));
  }
  void TearDown() override { remove_tree(folder_); }
  void put(const std::string& name, const std::string& text) {
    ASSERT_TRUE(write_file_durably(folder_ + "/" + name, text));
  }
  std::string folder_;
};

TEST_F(RuleFolder, AddsAndReplacesRules) {
  const auto built_in = load_rules(rule_connection(), {}).value();
  put("mine.yaml", kGood);
  std::string other = kGood;
  put("other.yaml", other.replace(0, 5, "id: launch_bound"));
  put("README.txt", "no rule");
  const auto set = load_rules(rule_connection(), {folder_}).value();
  EXPECT_EQ(set.rules.size(), built_in.rules.size() + 1);
  ASSERT_EQ(set.replaced.size(), 1u);
  EXPECT_EQ(set.replaced[0].id, "launch_bound");
  EXPECT_EQ(set.replaced[0].replaces, kBuiltIn);
  EXPECT_EQ(set.find("launch_bound")->version, 3);
  EXPECT_EQ(set.find("launch_bound")->origin, folder_ + "/other.yaml");
  EXPECT_TRUE(std::is_sorted(set.rules.begin(), set.rules.end(),
                             [](const Rule& a, const Rule& b) { return a.id < b.id; }));
}

TEST_F(RuleFolder, FaultsAreErrors) {
  EXPECT_EQ(load_rules(rule_connection(), {folder_ + "/none"}).error().code, ErrorCode::kNotFound);
  put("a.yaml", kGood);
  put("b.yaml", kGood);
  EXPECT_EQ(load_rules(rule_connection(), {folder_}).error().code, ErrorCode::kConflict);
  put("b.yaml", "id: b\n");
  const auto bad = load_rules(rule_connection(), {folder_});
  EXPECT_EQ(bad.error().code, ErrorCode::kBadInput);
  EXPECT_TRUE(bad.error().message.starts_with(folder_ + "/b.yaml:1: ")) << bad.error().message;
  put("b.yaml", std::string(kMaxRuleBytes + 1, '#'));
  EXPECT_EQ(load_rules(rule_connection(), {folder_}).error().code, ErrorCode::kLimit);
}

TEST(MetricCase, FaultsNameTheirLine) {
  for (const char* text :
       {"", "metrics: 1", "metrics: {no_such: 1}", "metrics: {idle_time: x}", "other: {}",
        "metrics: {idle_time: [1]}", "metrics: {idle_time: nan}", "metrics: {}\nabsent: {x: y}"}) {
    const auto set = parse_metric_case(text, "c");
    ASSERT_FALSE(set) << text;
    EXPECT_EQ(set.error().code, ErrorCode::kBadInput) << text;
  }
  const auto set = parse_metric_case("metrics: {idle_time: 5}\nabsent: {mfu: no peaks}\n", "c").value();
  EXPECT_EQ(*set.get(Metric::idle_time), 5);
  EXPECT_EQ(set.get(Metric::mfu).reason(), "no peaks");
  EXPECT_FALSE(set.get(Metric::mbu));
}

}  // namespace
}  // namespace nl::analyze
