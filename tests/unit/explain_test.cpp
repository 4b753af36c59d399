// What explain says a figure rests on fits the figure, for every metric; and how figures are spelled.

#include <gtest/gtest.h>

#include <algorithm>

#include "analyze/time/attribution.h"
#include "analyze/time/idle.h"
#include "ops/advice/explained.h"
#include "ops/text/figure_text.h"
#include "small_run.h"

namespace nl::ops {
namespace {

using analyze::Analysis;
using analyze::DeviceAnswer;
using analyze::KernelAnswer;
using analyze::Metric;
using analyze::OpClass;

const analyze::DeviceName kOn = {.device = {.number = 0}};

KernelAnswer work(const std::string& name, OpClass op_class, const std::string& table, int64_t longest_ns) {
  return {.on = kOn,
          .name = name,
          .op_class = op_class,
          .is_copy = table == "copies",
          .longest_ns = longest_ns,
          .longest_row = 3,
          .longest_table = table};
}

/// A device of whose metrics all have this value, with a gap of every cause and kernels of every class.
Analysis analysis_with(double value) {
  Analysis data;
  DeviceAnswer device{.on = kOn};
  for (size_t i = 0; i < analyze::kMetrics; i++)
    device.metrics.set(static_cast<Metric>(i), Known<double>(value));
  for (size_t i = 0; i < analyze::kIdleCauses; i++) {
    const auto at = static_cast<int64_t>(i);
    device.longest_gaps.push_back(
        {.start_ns = at * 1000,
         .dur_ns = i < 2 ? 1000 : 500,  // the first three are one gap
         .cause = std::string(analyze::idle_cause_name(static_cast<analyze::IdleCause>(i))),
         .host_span = "ignore this"});
  }
  data.devices.push_back(std::move(device));
  for (size_t i = 0; i < analyze::kOpClasses; i++) {
    const auto op_class = static_cast<OpClass>(i);
    data.top_kernels.push_back(work(std::string(op_class_name(op_class)), op_class, "kernels", 20'000));
  }
  for (const auto& [name, op_class, table, longest_ns] :
       {std::tuple{"ampere_sgemm_128x64_tn", OpClass::k_gemm, "kernels", 20'000},
        {"flash_fwd_kernel<Traits>", OpClass::k_attention, "kernels", 20'000},
        {"short", OpClass::k_norm, "kernels", 9'999},
        {"copy.3", OpClass::k_memory, "spans", 5},
        {"Memcpy HtoD (Pageable -> Device)", OpClass::k_memory, "copies", 5},
        {"Memcpy DtoH (Device -> Pinned)", OpClass::k_memory, "copies", 5},
        {"Memcpy DtoD (Device -> Device)", OpClass::k_memory, "copies", 5},
        {"Memset (Device)", OpClass::k_memory, "copies", 5}})
    data.top_kernels.push_back(work(name, op_class, table, longest_ns));
  return data;
}

std::vector<std::string> names_behind(const Analysis& data, Metric metric) {
  std::vector<std::string> names;
  for (const ExplainedRow& row : rows_behind(data, data.devices[0], metric)) names.push_back(row.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(RowsBehind, FitEveryMetric) {
  const Analysis data = analysis_with(1);
  for (size_t i = 0; i < analyze::kMetrics; i++) {
    const auto metric = static_cast<Metric>(i);
    const analyze::MetricInfo& info = analyze::metric_info(metric);
    SCOPED_TRACE(info.id);
    const auto rows = rows_behind(data, data.devices[0], metric);
    EXPECT_LE(rows.size(), 5u);
    for (const ExplainedRow& row : rows) {
      SCOPED_TRACE(row.name);
      const bool is_idle = info.id.starts_with("idle_") || metric == Metric::longest_gap_time;
      ASSERT_EQ(row.kind == "gap", is_idle);
      if (is_idle) continue;
      EXPECT_NE(info.source.find(row.kind == "copy" ? "copies" : "kernels"), std::string_view::npos);
      if (metric < Metric::gemm_kernel_time || metric > Metric::other_kernel_time) continue;
      const auto one = std::find_if(data.top_kernels.begin(), data.top_kernels.end(),
                                    [&](const KernelAnswer& kernel) { return kernel.name == row.name; });
      EXPECT_EQ(analyze::class_metric(one->op_class), metric);
    }
  }
}

TEST(RowsBehind, AreGapsOfTheCause) {
  const Analysis data = analysis_with(1);
  for (size_t i = 0; i < analyze::kIdleCauses; i++) {
    const auto cause = static_cast<analyze::IdleCause>(i);
    const auto rows = rows_behind(data, data.devices[0], analyze::idle_metric(cause));
    ASSERT_EQ(rows.size(), 1u) << analyze::idle_cause_name(cause);
    EXPECT_EQ(rows[0].name, analyze::idle_cause_name(cause));
    EXPECT_NE(rows[0].text.find("\"ignore this\""), std::string::npos);
  }
  for (const std::string& cause : names_behind(data, Metric::idle_host_late_time))
    EXPECT_TRUE(cause.starts_with("host_")) << cause;
  EXPECT_EQ(names_behind(data, Metric::longest_gap_time), (Names{"host_sync", "host_data", "host_alloc"}));
  EXPECT_EQ(names_behind(data, Metric::idle_time).size(), 5u);
}

TEST(RowsBehind, AreWorkThatTheMetricSumsUp) {
  const Analysis data = analysis_with(1);
  EXPECT_EQ(names_behind(data, Metric::memset_time), Names{"Memset (Device)"});
  EXPECT_EQ(names_behind(data, Metric::h2d_time), Names{"Memcpy HtoD (Pageable -> Device)"});
  EXPECT_EQ(names_behind(data, Metric::d2h_bytes), Names{"Memcpy DtoH (Device -> Pinned)"});
  EXPECT_EQ(names_behind(data, Metric::pageable_time), Names{"Memcpy HtoD (Pageable -> Device)"});
  EXPECT_EQ(names_behind(data, Metric::copy_time).front(), "copy.3");
  EXPECT_EQ(names_behind(data, Metric::cast_copy_kernel_time), Names{"memory"});
  EXPECT_EQ(names_behind(data, Metric::short_kernel_time), Names{"short"});
  EXPECT_EQ(names_behind(data, Metric::flash2_kernel_time), Names{"flash_fwd_kernel<Traits>"});
  EXPECT_EQ(names_behind(data, Metric::ampere_kernel_time), Names{"ampere_sgemm_128x64_tn"});
  EXPECT_EQ(names_behind(data, Metric::exposed_comm_time), Names{"communication"});
  EXPECT_EQ(names_behind(data, Metric::softmax_kernel_time), Names{"softmax"});
  EXPECT_EQ(names_behind(data, Metric::unclassified_share), Names{"other"});
  EXPECT_EQ(names_behind(data, Metric::top_kernel_time), Names{"gemm"});
}

TEST(RowsBehind, AreNoneWhereNoListedRowIsAPart) {
  const Analysis data = analysis_with(1);
  for (const Metric metric :
       {Metric::total_time, Metric::memory_peak_bytes, Metric::sync_time, Metric::alloc_time,
        Metric::prefill_time, Metric::step_median, Metric::launch_bound, Metric::compute_capability})
    EXPECT_TRUE(names_behind(data, metric).empty()) << analyze::metric_info(metric).id;
  const Analysis zero = analysis_with(0);
  EXPECT_TRUE(names_behind(zero, Metric::idle_host_sync_time).empty());
  EXPECT_TRUE(names_behind(zero, Metric::idle_time).empty());
}

TEST(RowsBehind, NameTheTableOfTheirRow) {
  const Analysis data = analysis_with(1);
  EXPECT_EQ(rows_behind(data, data.devices[0], Metric::copy_time)[0].row, "spans:3");
  EXPECT_EQ(rows_behind(data, data.devices[0], Metric::memset_time)[0].row, "copies:3");
  EXPECT_EQ(rows_behind(data, data.devices[0], Metric::top_kernel_time)[0].row, "kernels:3");
}

TEST(LongestCall, SaysWhichTableItIsOf) {
  analyze::SmallRun small;
  small.span(model::SpanKind::device, "fusion.1", {0, 50});
  const auto rows = analyze::kernel_rows(small.run, small.device(), {small.run.capture});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].longest_table, analyze::WorkTable::kSpans);
}

TEST(FigureText, OfPlainNumbersAndCounts) {
  EXPECT_EQ(figure_text_of("compute_capability", 9, "ratio"), "9");
  EXPECT_EQ(figure_text_of("host_processors", 64, "ratio"), "64");
  EXPECT_EQ(figure_text_of("mfu", 0.375, "ratio"), "37.5 %");
  EXPECT_EQ(figure_text_of("idle_time / total_time", 0.375, ""), "37.5 %");
  EXPECT_EQ(figure_text_of("kernel_count", 123'456, "count"), "123,456");
  EXPECT_EQ(evidence_text({.of = "kernel_count", .value = 123'456.0, .unit = "count", .text = "Kernels."}),
            "Kernels: 123,456.");
}

}  // namespace
}  // namespace nl::ops
