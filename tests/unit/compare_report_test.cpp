// Reports of comparisons at their edges: nothing to show, sides without time, parts that no bar shows, ratios
// that are not finite.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "report/compare_charts.h"
#include "report/compare_html.h"
#include "report/compare_junit.h"
#include "report/compare_md.h"

namespace nl::report {
namespace {

using nlohmann::json;

const CompareProvenance kProvenance{"1.2.3", "neurolens compare --base a --new b"};

json side(int64_t window_ns) {
  return {{"run_id", std::string(64, 'a')},
          {"runs", {std::string(64, 'a')}},
          {"source", "device"},
          {"device", nullptr},
          {"window", "whole"},
          {"unit", "capture"},
          {"units", 1},
          {"warm_up_left_out", 0},
          {"total_ns", window_ns},
          {"window_ns", window_ns}};
}

json statistics(const std::string& verdict) {
  const json summary = {{"n", 1}, {"min", 0.0}, {"median", 0.0}, {"max", 0.0}, {"median_interval", nullptr}};
  return {{"verdict", verdict}, {"base", summary}, {"new", summary}, {"ratio_interval", nullptr}};
}

json part(const std::string& name, int64_t base_ns, int64_t new_ns, const std::string& kind = "compute") {
  return {{"kind", kind},       {"name", name},     {"words", name},
          {"base_ns", base_ns}, {"new_ns", new_ns}, {"delta_ns", new_ns - base_ns}};
}

json comparison(int64_t base_ns, int64_t new_ns, const std::vector<json>& parts) {
  json window = statistics("not_tested");
  window["practical_bound"] = 0.01;
  window["values"] = {{"base", json::array()}, {"new", json::array()}};
  window["within_one_run"] = {{"base", nullptr}, {"new", nullptr}};
  const json no_work = {{"kernels", 0}, {"kernel_ns", 0}, {"copies", 0}, {"copy_ns", 0}};
  return {{"verdict", "not_tested"},
          {"reasons", json::array()},
          {"mode", "same"},
          {"comparability", {{"score", 1.0}, {"floor", 0.5}, {"factors", json::array()}}},
          {"base", side(base_ns)},
          {"new", side(new_ns)},
          {"delta_ns", new_ns - base_ns},
          {"ratio",
           base_ns == 0 ? json(nullptr) : json(static_cast<double>(new_ns) / static_cast<double>(base_ns))},
          {"unit", "capture"},
          {"parts", parts},
          {"changes", json::array()},
          {"not_shown", {{"rows", 0}, {"delta_ns", 0}}},
          {"matched", {{"base", nullptr}, {"new", nullptr}}},
          {"ops", json::array()},
          {"modules", json::array()},
          {"devices", json::array()},
          {"totals", {{"base", no_work}, {"new", no_work}}},
          {"statistics", window},
          {"differences", json::array()},
          {"across", nullptr}};
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(CompareReport, NothingToShow) {
  const json empty = comparison(0, 0, {});
  EXPECT_TRUE(holds(compare_html(empty, kProvenance), "Not tested"));
  EXPECT_FALSE(holds(compare_html(empty, kProvenance), "id=\"difference\""));
  EXPECT_TRUE(compare_markdown(empty, kProvenance).starts_with("**Not tested: capture 0 ns → 0 ns, 0 ns**"));
  EXPECT_TRUE(
      holds(compare_junit(empty, kProvenance), "tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"1\""));
}

TEST(CompareReport, SmallPartsAreOneBarThatCloses) {
  std::vector<json> parts = {part("gemm", 0, 1'000'000)};
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
  const json data = comparison(80, 80, {part("gemm", 100, 100), part("rest", -20, -20, "rest")});
  const std::string chart = sides_chart(data);
  EXPECT_FALSE(holds(chart, "class=\"rest\""));
  EXPECT_FALSE(holds(chart, "width=\"-"));
  EXPECT_TRUE(holds(compare_html(data, kProvenance), "-0.000020"));
}

TEST(CompareReport, RatiosThatAreNotFinite) {
  json data = comparison(0, 5, {part("gemm", 0, 5)});
  data["statistics"]["ratio"] = INFINITY;
  data["statistics"]["ratio_interval"] = {{"low", 1.5}, {"high", INFINITY}, {"coverage", 0.95}};
  EXPECT_TRUE(holds(compare_html(data, kProvenance), "ratio - [1.5000, -]"));
  EXPECT_FALSE(holds(compare_junit(data, kProvenance), "inf"));
}

TEST(CompareReport, NothingIsARegressionBetweenSidesThatCannotBeCompared) {
  json data = comparison(100, 200, {part("gemm", 100, 200)});
  data["parts"][0]["statistics"] = statistics("regression");
  EXPECT_TRUE(holds(compare_junit(data, kProvenance), "failures=\"1\""));
  data["verdict"] = "incomparable";
  EXPECT_TRUE(holds(compare_junit(data, kProvenance), "failures=\"0\""));
}

TEST(CompareReport, EqualValuesOfAllRunsAreDotsInTheMiddle) {
  const std::string chart = dots_chart({{"base", {5.0, 5.0}}, {"new", json::array({5.0})}}, 120, 24, "dots");
  EXPECT_TRUE(holds(chart, "cx=\"60\""));
  EXPECT_FALSE(holds(chart, "nan"));
}

}  // namespace
}  // namespace nl::report
