// Reports of comparisons at their edges: nothing to show, sides without time, parts that no bar shows, ratios
// that are not finite.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ops/gate/compare_gate.h"
#include "report/compare_charts.h"
#include "report/compare_html.h"
#include "report/compare_junit.h"
#include "report/compare_md.h"

namespace nl::report {
namespace {

using compare::Comparison;
using compare::PartKind;
using compare::PartRow;
using stats::Verdict;

const CompareProvenance kProvenance{"1.2.3", "neurolens compare --base a --new b"};

compare::ComparedSide side(int64_t window_ns) {
  compare::ComparedSide side;
  side.run_id = std::string(64, 'a');
  side.runs = {side.run_id};
  side.source = "device";
  side.window = "whole";
  side.unit = "capture";
  side.total_ns = side.window_ns = window_ns;
  return side;
}

PartRow part(const std::string& name, int64_t base_ns, int64_t new_ns, PartKind kind = PartKind::kCompute) {
  return {kind, name, name, base_ns, new_ns, new_ns - base_ns, {}, {}};
}

Comparison comparison(int64_t base_ns, int64_t new_ns, const std::vector<PartRow>& parts) {
  Comparison out;
  out.comparability = {1, 0.5, {}};
  out.base = side(base_ns);
  out.next = side(new_ns);
  out.delta_ns = new_ns - base_ns;
  if (base_ns != 0) out.ratio = static_cast<double>(new_ns) / static_cast<double>(base_ns);
  out.unit = "capture";
  out.parts = parts;
  out.statistics.base.n = out.statistics.next.n = 1;
  out.statistics.practical_bound = 0.01;
  return out;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(CompareReport, NothingToShow) {
  const Comparison empty = comparison(0, 0, {});
  EXPECT_TRUE(holds(compare_html(empty, kProvenance), "Not tested"));
  EXPECT_FALSE(holds(compare_html(empty, kProvenance), "id=\"difference\""));
  EXPECT_TRUE(compare_markdown(empty, kProvenance).starts_with("**Not tested: capture 0 ns → 0 ns, 0 ns**"));
  EXPECT_TRUE(
      holds(compare_junit(empty, kProvenance), "tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"1\""));
}

TEST(CompareReport, SmallPartsAreOneBarThatCloses) {
  std::vector<PartRow> parts = {part("gemm", 0, 1'000'000)};
  for (int i = 0; i < 20; i++) parts.push_back(part("p" + std::to_string(i), 0, 1));
  const std::string chart = waterfall_chart(comparison(0, 1'000'020, parts), 1000, "wide");
  EXPECT_TRUE(holds(chart, "20 other parts"));
  EXPECT_TRUE(holds(chart, ">+20 ns<"));
  EXPECT_TRUE(holds(chart, ">1.000 ms<"));
}

TEST(CompareReport, AxisBeginsAtZeroUnlessNothingCouldBeSeen) {
  EXPECT_EQ(waterfall_start(comparison(100, 150, {part("gemm", 100, 150)})), 0);
  const int64_t start = waterfall_start(comparison(1'000'000, 1'001'000, {part("gemm", 0, 1'000)}));
  EXPECT_GT(start, 990'000);
  EXPECT_LT(start, 1'000'000);
}

TEST(CompareReport, ARestBelowZeroIsInTheTableAndInNoBar) {
  const Comparison data =
      comparison(80, 80, {part("gemm", 100, 100), part("rest", -20, -20, PartKind::kRest)});
  const std::string chart = sides_chart(data);
  EXPECT_FALSE(holds(chart, "class=\"rest\""));
  EXPECT_FALSE(holds(chart, "width=\"-"));
  EXPECT_TRUE(holds(compare_html(data, kProvenance), "-0.000020"));
}

TEST(CompareReport, RatiosThatAreNotFinite) {
  Comparison data = comparison(0, 5, {part("gemm", 0, 5)});
  data.statistics.ratio = INFINITY;
  data.statistics.ratio_interval = stats::Interval{1.5, INFINITY, 0.95};
  EXPECT_TRUE(holds(compare_html(data, kProvenance), "ratio - [1.5000, -]"));
  EXPECT_FALSE(holds(compare_junit(data, kProvenance), "inf"));
}

TEST(CompareReport, APartThatIsSlowerInformsAndDoesNotFail) {
  Comparison data = comparison(100, 200, {part("gemm", 100, 200)});
  data.parts[0].statistics.emplace().verdict = Verdict::kRegression;
  EXPECT_TRUE(holds(compare_junit(data, kProvenance), "failures=\"0\""));
  EXPECT_TRUE(holds(compare_junit(data, kProvenance), "<system-out>Regression: 100 ns → 200 ns"));
  data.verdict = Verdict::kRegression;
  EXPECT_TRUE(holds(compare_junit(data, kProvenance), "failures=\"1\""));
  data.verdict = Verdict::kIncomparable;
  EXPECT_TRUE(holds(compare_junit(data, kProvenance), "failures=\"0\""));
}

/// As many failures as the gate failed on; none if it passed.
TEST(CompareReport, TestsAndGateAgree) {
  Comparison data = comparison(100, 103, {part("gemm", 90, 103), part("conv", 10, 0)});
  data.parts[0].statistics.emplace().verdict = Verdict::kRegression;
  data.expectations = {{"window", "total", "1 us", 103, 1.0, true},
                       {"part", "gemm", "50 ns", 103, 1.0, true}};
  const auto failures = [&](const ops::GateOptions& options) {
    data.gate = ops::judge_gate(data, options);
    const std::string junit = compare_junit(data, kProvenance);
    EXPECT_TRUE(holds(junit, fmt::format("failures=\"{}\"", data.gate->failed_on.size()))) << junit;
    EXPECT_EQ(data.gate->passed, data.gate->failed_on.empty());
    return data.gate->failed_on.size();
  };
  EXPECT_EQ(failures({.allow_untested = 0.05}), 0u);
  EXPECT_EQ(failures({}), 1u);
  data.expectations[1].met = false;
  EXPECT_EQ(failures({.allow_untested = 0.05}), 1u);
  EXPECT_EQ(failures({}), 2u);
}

TEST(CompareReport, BeginsWithTheSentenceAndNamesFilesAndModel) {
  Comparison data = comparison(100, 200, {part("gemm", 100, 200)});
  data.sentence = "100 ns a step slower: <b>";
  data.base.model = "resnet50";
  data.base.files = {"before.json.gz"};
  data.next.files = {"after.json.gz", "more.json"};
  data.remarks = {"one model on two engines"};
  EXPECT_TRUE(compare_markdown(data, kProvenance).starts_with("**100 ns a step slower: "));
  for (const std::string& page : {compare_markdown(data, kProvenance), compare_html(data, kProvenance)}) {
    EXPECT_TRUE(holds(page, "One model on two engines"));
    EXPECT_FALSE(holds(page, "<b>"));
    EXPECT_TRUE(holds(page, "resnet50"));
    EXPECT_TRUE(holds(page, "1 more file"));
  }
  const std::string html = compare_html(data, kProvenance);
  EXPECT_LT(html.find("class=\"sentence\""), html.find("class=\"verdict\""));
  EXPECT_TRUE(holds(html, "before.json.gz"));
}

TEST(CompareReport, EqualValuesOfAllRunsAreDotsInTheMiddle) {
  const std::string chart = dots_chart({{5.0, 5.0}, {5.0}}, 120, 24, "dots");
  EXPECT_TRUE(holds(chart, "cx=\"60\""));
  EXPECT_FALSE(holds(chart, "nan"));
}

}  // namespace
}  // namespace nl::report
