#include "analyze/rules/rule_expression.h"

#include <gtest/gtest.h>

#include "analyze/rules/unit.h"
#include "shared_engine.h"

namespace nl::analyze {
namespace {

store::Connection& connection() {
  return SharedEngine::connection();
}

ReadExpression read(const std::string& text) {
  return std::move(read_expressions(connection(), {text}).value()[0]);
}

Expression expression(const std::string& text) {
  auto one = read(text);
  if (const auto* fault = std::get_if<ExpressionFault>(&one)) ADD_FAILURE() << text << ": " << fault->what;
  return std::holds_alternative<Expression>(one) ? std::get<Expression>(one) : Expression();
}

ExpressionFault fault(const std::string& text) {
  auto one = read(text);
  if (std::holds_alternative<Expression>(one)) ADD_FAILURE() << "accepted: " << text.substr(0, 80);
  return std::holds_alternative<Expression>(one) ? ExpressionFault{} : std::get<ExpressionFault>(one);
}

MetricSet metrics() {
  MetricSet set;
  set.set(Metric::total_time, int64_t{1000});
  set.set(Metric::idle_time, int64_t{250});
  set.set(Metric::busy_time, int64_t{750});
  set.set(Metric::kernel_count, int64_t{10});
  set.set(Metric::copy_count, int64_t{0});
  set.absent(Metric::queue_median, "no launches");
  return set;
}

double number(const std::string& text) {
  const auto value = expression(text).number(metrics());
  EXPECT_TRUE(value) << text << ": " << value.reason();
  return value.value_or(-1);
}

bool truth(const std::string& text) {
  const auto value = expression(text).truth(metrics());
  EXPECT_TRUE(value) << text << ": " << value.reason();
  return value.value_or(false);
}

TEST(RuleExpression, ComputesAsSqlReadsIt) {
  EXPECT_EQ(number("idle_time / total_time"), 0.25);
  EXPECT_EQ(number("1 + 2 * 3"), 7);
  EXPECT_EQ(number("(1 + 2) * 3"), 9);
  EXPECT_EQ(number("7 - 2 - 1"), 4);
  EXPECT_EQ(number("12 / 3 / 2"), 2);
  EXPECT_EQ(number("1 / 4"), 0.25) << "never an integer division";
  EXPECT_EQ(number("-idle_time + 1_000"), 750);
  EXPECT_EQ(number("+idle_time - -1"), 251);
  EXPECT_EQ(number("least(idle_time, busy_time, 300)"), 250);
  EXPECT_EQ(number("GREATEST(idle_time, busy_time, 300)"), 750);
  EXPECT_EQ(number("0.1 + 1e3"), 1000.1);
  EXPECT_EQ(number("0.3"), 0.3) << "as written, not a quotient of decimals";
}

TEST(RuleExpression, ComparesAndDecides) {
  EXPECT_TRUE(truth("idle_time = 250 and idle_time <> 251 and idle_time != 1"));
  EXPECT_TRUE(truth("idle_time < 251 and idle_time <= 250 and idle_time > 249 and idle_time >= 250"));
  EXPECT_FALSE(truth("idle_time < 250 or idle_time > 250"));
  EXPECT_TRUE(truth("not idle_time < 250"));
  EXPECT_TRUE(truth("idle_time > 1 or idle_time > 2 and idle_time < 0")) << "and binds before or";
  EXPECT_TRUE(truth("present(idle_time) and not present(queue_median)"));
}

TEST(RuleExpression, DivisionByZeroIsAbsent) {
  const auto value = expression("total_time / copy_count").number(metrics());
  ASSERT_FALSE(value);
  EXPECT_EQ(value.reason(), "division by zero: total_time / copy_count");
  EXPECT_FALSE(expression("kernel_count / copy_count > 1").truth(metrics()));
  EXPECT_FALSE(expression("copy_count / copy_count > 1 or kernel_count > 1").truth(metrics()));
  EXPECT_FALSE(*expression("copy_count > 0 and kernel_count / copy_count > 1").truth(metrics()));
}

TEST(RuleExpression, TooLargeResultsAreAbsent) {
  EXPECT_FALSE(expression("1e300 * 1e300").number(metrics()));
}

TEST(RuleExpression, AbsentMetricsAreNamed) {
  const auto one = expression("idle_time / total_time > 0.1 or queue_median > 1 and present(mfu)");
  EXPECT_EQ(one.needed(), (std::vector<Metric>{Metric::idle_time, Metric::total_time, Metric::queue_median}));
  EXPECT_EQ(expression("queue_median + 1").number(metrics()).reason(), "queue_median: no launches");
}

TEST(RuleExpression, UnitsOfResults) {
  EXPECT_EQ(expression("idle_time + 5").unit().text(), "ns");
  EXPECT_EQ(expression("idle_time / total_time").unit().text(), "ratio");
  EXPECT_EQ(expression("kernel_count * launch_api_median").unit().text(), "ns");
  EXPECT_EQ(expression("idle_time / kernel_count").unit().text(), "ns");
  EXPECT_EQ(expression("kernel_count / step_count").unit().text(), "ratio");
  EXPECT_EQ(expression("kernel_count * comm_overlap").unit().text(), "count");
  EXPECT_EQ(expression("2 * kernel_count").unit().text(), "count");
  EXPECT_EQ(expression("h2d_bytes / h2d_time").unit().text(), "B/ns");
  EXPECT_EQ(expression("1 / idle_time").unit().text(), "1/ns");
  EXPECT_EQ(expression("h2d_bytes / h2d_bandwidth").unit().text(), "s");
  EXPECT_EQ(expression("total_time * (1 - mbu)").unit().text(), "ns");
  EXPECT_EQ(expression("2 * 3").unit().text(), "");
  EXPECT_TRUE(expression("idle_time > 1").is_boolean());
}

TEST(RuleExpression, DifferentUnitsAreRefused) {
  for (const char* text : {"idle_time + h2d_bytes", "idle_time - kernel_count", "kernel_count > comm_overlap",
                           "least(idle_time, mfu)", "h2d_bytes / h2d_time > h2d_bandwidth",
                           "model_flops = model_bytes", "idle_time * idle_time > idle_time"}) {
    EXPECT_NE(fault(text).what.find("units differ"), std::string::npos) << text;
  }
  EXPECT_EQ(fault("idle_time + h2d_bytes").offset, 10u) << "the operator";
}

TEST(RuleExpression, TypesAreChecked) {
  EXPECT_EQ(fault("(idle_time > 1) + 1").offset, 11u);
  for (const char* text :
       {"idle_time and total_time > 1", "not idle_time", "least(idle_time > 1)", "(idle_time > 1) > 2",
        "-(idle_time > 1)", "present(idle_time) + 1", "present(mfu) > 0"}) {
    (void)fault(text);
  }
}

TEST(RuleExpression, OnlyTheLanguageOfRulesIsAllowed) {
  for (const char* text : {"",
                           " ",
                           "idle_time::INT",
                           "CAST(idle_time AS INT) > 1",
                           "(SELECT 1)",
                           "sum(idle_time)",
                           "abs(idle_time)",
                           "idle_time IN (1, 2)",
                           "idle_time BETWEEN 1 AND 2",
                           "CASE WHEN idle_time > 1 THEN 1 ELSE 2 END",
                           "'x'",
                           "\"idle_time\"",
                           "idle_time = 'a'",
                           "true",
                           "NULL",
                           "idle_time IS NULL",
                           "idle_time % 2",
                           "idle_time // 2",
                           "2 ** 3",
                           "?",
                           "$1",
                           ":a",
                           "idle_time AS x",
                           "idle_time x",
                           "idle_time, total_time",
                           "(idle_time, total_time)",
                           "idle_time; DROP TABLE x",
                           "idle_time;",
                           "idle_time -- 1",
                           "idle_time /* */ + 1",
                           "1 FROM runs",
                           "1 WHERE idle_time > 1",
                           "1 GROUP BY ALL",
                           "1 LIMIT 1",
                           "DISTINCT idle_time",
                           "1 UNION SELECT 2",
                           "*",
                           "count(*)",
                           "t.idle_time",
                           "idle_time[1]",
                           "{'a': 1}",
                           "x -> 1",
                           "least(DISTINCT idle_time)",
                           "least(idle_time ORDER BY 1)",
                           "least(idle_time) OVER ()",
                           "main.least(idle_time)",
                           "least()",
                           "present()",
                           "present(idle_time, mfu)",
                           "present(1)",
                           "present(idle_time + 1)",
                           "present(least(idle_time))",
                           "no_such_metric",
                           "Idle_Time",
                           "idle_time IS DISTINCT FROM 1",
                           "1e999",
                           "123456789012345678901234567890",
                           "0.1234567890123456789012",
                           "idle_time > ",
                           "(idle_time",
                           "idle_time)",
                           "COLUMNS(*)",
                           "EXISTS (SELECT 1)",
                           "idle_time NOT NULL",
                           "ROW(1)",
                           "1 QUALIFY true",
                           "1 USING SAMPLE 1",
                           "0x10",
                           "idle_time COLLATE x"}) {
    EXPECT_FALSE(fault(text).what.empty()) << text;
  }
}

TEST(RuleExpression, FaultsNameThePlace) {
  EXPECT_EQ(fault("idle_time > 1 and idle_tme > 2").offset, 18u);
  EXPECT_NE(fault("idle_tme").what.find("did you mean idle_time"), std::string::npos);
  EXPECT_EQ(fault("idle_time + sum(total_time)").offset, 12u);
  EXPECT_EQ(fault("idle_time ; 1").offset, 10u);
  EXPECT_EQ(fault("idle_time > > 1").offset, 12u);
  EXPECT_EQ(fault("idle_time FROM x").offset, 15u);
}

TEST(RuleExpression, HostileTextIsAFault) {
  const auto repeated = [](const std::string& piece, int times) {
    std::string out;
    for (int i = 0; i < times; i++) out += piece;
    return out;
  };
  (void)fault(repeated("(", 32000) + "1" + repeated(")", 32000));
  (void)fault("1" + repeated("+1", 32000));
  (void)fault("1" + repeated("+1", 2000));
  (void)fault(repeated("not ", 1000) + "present(mfu)");
  (void)fault(repeated("- ", 2000) + "idle_time");
  (void)fault(repeated("least(", 500) + "1" + repeated(")", 500));
  (void)fault(std::string("idle_time\0 > 1", 14));
  (void)fault("idle_time > \xff\xfe");
  (void)fault("größe");
  (void)fault(repeated("a", 4000));
}

TEST(RuleExpression, SurvivesEveryTruncationAndChangedByte) {
  const std::string text = "not (idle_time / total_time > 0.25 or least(1e3, 2) <> 3) and present(mfu)";
  std::vector<std::string> texts;
  for (size_t end = 0; end <= text.size(); end++) texts.push_back(text.substr(0, end));
  for (size_t at = 0; at < text.size(); at++) {
    for (const char c :
         {'\0', '\xff', '(', ')', '\'', '"', ';', '-', '/', '*', ',', '.', '0', ' ', '\\', '$'}) {
      texts.push_back(text);
      texts.back()[at] = c;
    }
  }
  const auto all = read_expressions(connection(), texts);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->size(), texts.size());
}

TEST(RuleExpression, AFaultDoesNotSpoilTheOthers) {
  const auto all = read_expressions(connection(), {"idle_time", "(", "total_time", "';", "1 + 1"}).value();
  EXPECT_EQ(std::get<Expression>(all[0]).text(), "idle_time");
  EXPECT_TRUE(std::holds_alternative<ExpressionFault>(all[1]));
  EXPECT_EQ(std::get<Expression>(all[2]).text(), "total_time");
  EXPECT_TRUE(std::holds_alternative<ExpressionFault>(all[3]));
  EXPECT_EQ(std::get<Expression>(all[4]).number({}).value_or(0), 2);
  EXPECT_TRUE(read_expressions(connection(), {}).value().empty());
}

}  // namespace
}  // namespace nl::analyze
