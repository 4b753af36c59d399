// Findings share one budget: what they promise together is never more than the window.
#include "analyze/budget.h"

#include <gtest/gtest.h>

#include "analyze/rules/rule_set.h"
#include "shared_engine.h"

namespace nl::analyze {
namespace {

MetricSet window_of(int64_t total, int64_t elementwise, int64_t gemm) {
  MetricSet metrics;
  metrics.set(Metric::total_time, total);
  metrics.set(Metric::compute_time, elementwise + gemm);
  metrics.set(Metric::elementwise_kernel_time, elementwise);
  metrics.set(Metric::gemm_kernel_time, gemm);
  return metrics;
}

Rule rule_about(store::Connection& connection, const std::string& id, const std::string& at_stake) {
  const std::string text =
      "id: " + id + "\nversion: 1\ntitle: t\ncondition: 1 = 1\nconfidence: low\nat_stake: " + at_stake +
      "\nevidence:\n  - {metric: total_time, text: a}\n  - {metric: compute_time, text: b}\n"
      "suggestions:\n  - {text: a}\n  - {text: b}\nreferences: [https://x.org]\n";
  auto readings = read_rules(connection, {{id, text}});
  return *readings.value().at(0).rule;
}

Finding finding_of(const std::string& rule, int64_t gain) {
  Finding finding;
  finding.rule = rule;
  finding.suggestions = {{1, "do it", gain, true}};
  return finding;
}

class Budgets : public testing::Test {
 protected:
  store::Connection& connection_ = SharedEngine::connection();
};

TEST_F(Budgets, OnePoolIsPromisedOnce) {
  const std::vector<Rule> rules = {rule_about(connection_, "fuse", "elementwise_kernel_time"),
                                   rule_about(connection_, "narrow", "elementwise_kernel_time"),
                                   rule_about(connection_, "tune", "gemm_kernel_time")};
  std::vector<Finding> findings = {finding_of("fuse", 30), finding_of("narrow", 25), finding_of("tune", 20)};
  share_budget(findings, rules, window_of(100, 40, 50));
  EXPECT_EQ(findings[0].promised_ns, 30);
  EXPECT_TRUE(findings[0].shared_with.empty());
  EXPECT_EQ(findings[1].promised_ns, 10);
  EXPECT_EQ(findings[1].shared_with, std::vector<std::string>{"fuse"});
  EXPECT_EQ(findings[2].promised_ns, 20);
}

TEST_F(Budgets, KernelsSideBySideCannotGiveMoreThanTheWindow) {
  const std::vector<Rule> rules = {rule_about(connection_, "fuse", "elementwise_kernel_time"),
                                   rule_about(connection_, "tune", "gemm_kernel_time")};
  MetricSet metrics = window_of(100, 90, 90);  // on two streams
  metrics.set(Metric::compute_time, int64_t{95});
  std::vector<Finding> findings = {finding_of("fuse", 90), finding_of("tune", 90)};
  share_budget(findings, rules, metrics);
  EXPECT_EQ(findings[0].promised_ns, 90);
  EXPECT_EQ(findings[1].promised_ns, 5);
}

}  // namespace
}  // namespace nl::analyze
