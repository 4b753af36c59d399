// Every profile of the corpus, in every window that it has: the parts of the window add up to it, the causes
// of idle time add up to the idle time, the steady part and what lies outside add up to the capture, and the
// busy time of the whole equals the value computed without NeuroLens.

#include <set>

#include "analyze/device_metrics.h"
#include "analyze/names/taxonomy.h"
#include "corpus.h"
#include "store/open_run.h"

namespace nl::golden {
namespace {

using analyze::IntervalSet;
using analyze::Metric;
using analyze::MetricSet;

constexpr size_t kMostNames = 50;

/// Profiles with events; the descriptions beside them hold no time.
std::vector<std::string> profiles() {
  std::vector<std::string> files;
  for (const auto& [folder, timed] :
       {std::pair{"kineto/", ""}, std::pair{"onnxruntime/", ""}, std::pair{"trtexec/", ".timing."},
        std::pair{"rocprof/", "_kernel_trace."}}) {
    for (const auto& file : files_of(folder)) {
      if (file != "absent" && file.find(timed) != std::string::npos) files.push_back(file);
    }
  }
  return files.empty() ? std::vector<std::string>{"absent"} : files;
}

analyze::PreparedRun prepared(const std::string& bundle) {
  const auto open = store::OpenRun::open(store::place_in_ledger(bundle)).value();
  static const analyze::Taxonomy kTaxonomy = analyze::Taxonomy::built_in().value();
  return analyze::prepare_run(*open, kTaxonomy, {}).value();
}

std::vector<std::string> window_names(const analyze::PreparedRun& run) {
  std::vector<std::string> names = {"whole", "steady"};
  for (size_t i = 0; i < run.windows.steps.list.size(); i++) names.push_back("step:" + std::to_string(i));
  std::set<std::string> marks;
  for (const auto& range : run.windows.phases) marks.emplace(analyze::phase_name(range.phase));
  const size_t phases = marks.size();
  const auto& spans = run.timeline.spans;
  for (size_t i = 0; i < spans.size() && marks.size() < phases + kMostNames; i++) {
    const bool mark = spans.kind[i] == model::SpanKind::annotation && spans.end[i] > spans.start[i];
    if (mark) marks.emplace(run.timeline.names[spans.name[i]]);
  }
  names.insert(names.end(), marks.begin(), marks.end());
  return names;
}

int64_t ns(const MetricSet& metrics, Metric metric) {
  return static_cast<int64_t>(metrics.get(metric).value_or(0));
}

void expect_sums_close(const MetricSet& metrics, const IntervalSet& window) {
  const int64_t total = analyze::total_length(window), idle = ns(metrics, Metric::idle_time);
  EXPECT_EQ(ns(metrics, Metric::total_time), total);
  EXPECT_EQ(ns(metrics, Metric::compute_time) + ns(metrics, Metric::exposed_comm_time) +
                ns(metrics, Metric::exposed_copy_time) + idle,
            total);
  EXPECT_EQ(ns(metrics, Metric::busy_time) + idle, total);
  EXPECT_EQ(ns(metrics, Metric::overlap_time) + ns(metrics, Metric::exposed_comm_time),
            ns(metrics, Metric::comm_time));
  int64_t causes = 0;
  for (size_t i = 0; i < analyze::kIdleCauses; i++) {
    const int64_t cause = ns(metrics, analyze::idle_metric(static_cast<analyze::IdleCause>(i)));
    EXPECT_GE(cause, 0);
    causes += cause;
  }
  EXPECT_EQ(causes, idle);
}

/// The steady part and the parts outside follow each other and fill the capture.
void expect_capture_is_filled(const analyze::Windows& windows) {
  PagedVector<analyze::Interval> parts = {windows.steady.time};
  for (const auto& part : windows.steady.outside) parts.push_back(part.time);
  int64_t sum = 0;
  for (const auto& part : parts) sum += part.length();
  EXPECT_EQ(sum, windows.whole.length());
  EXPECT_EQ(analyze::union_of(parts), (IntervalSet{windows.whole}));
}

void expect_sums_close_in_every_window(const analyze::PreparedRun& run) {
  for (const auto& name : window_names(run)) {
    SCOPED_TRACE(name);
    const auto window = analyze::window_named(name, run.timeline, run.windows);
    ASSERT_TRUE(window);
    ASSERT_GT(analyze::total_length(*window), 0);
    for (const auto& state : run.devices)
      expect_sums_close(analyze::device_metrics(run, state, *window), *window);
  }
}

/// The golden value is a union over all devices of the file.
void expect_busy_time(const analyze::PreparedRun& run, int64_t golden_ns) {
  IntervalSet busy;
  for (const auto& state : run.devices) busy = analyze::unite(busy, state.device.busy);
  EXPECT_EQ(analyze::total_length(busy), golden_ns);
  if (run.devices.size() != 1) return;
  const auto whole = analyze::window_named("whole", run.timeline, run.windows);
  ASSERT_TRUE(whole);
  EXPECT_EQ(ns(analyze::device_metrics(run, run.devices[0], *whole), Metric::busy_time), golden_ns);
}

class AnalysisCorpus : public CorpusFile {};

TEST_P(AnalysisCorpus, SumsCloseInEveryWindow) {
  Imported imported(temp_.path(), {path()});
  const auto run = prepared(imported.bundle);
  ASSERT_FALSE(run.devices.empty());
  expect_sums_close_in_every_window(run);
  expect_capture_is_filled(run.windows);
  const json golden = expected();
  if (golden.contains("gpu_busy_union_ns")) expect_busy_time(run, golden["gpu_busy_union_ns"]);
}

INSTANTIATE_TEST_SUITE_P(Profiles, AnalysisCorpus, testing::ValuesIn(profiles()), test_name);

}  // namespace
}  // namespace nl::golden
