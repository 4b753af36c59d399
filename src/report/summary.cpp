#include "report/summary.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/number_text.h"
#include "report/compare_words.h"
#include "report/device_label.h"
#include "report/escape.h"
#include "report/serving_words.h"

namespace nl::report {
namespace {

using analyze::Analysis;
using analyze::DeviceAnswer;
using analyze::Metric;

constexpr size_t kNameInSentence = 80;
constexpr size_t kRemark = 1000;
constexpr double kNearlyAll = 0.995;

std::string shown(const std::string& name) {
  return visible(name, kNameInSentence);
}

std::string shown(const std::optional<std::string>& name) {
  return name ? shown(*name) : "(no name)";
}

class Summary {
 public:
  explicit Summary(const Analysis& analysis) : analysis_(analysis) {}

  std::vector<Sentence> all() {
    add_window();
    add_limiters();
    add_remarks();
    for (const DeviceAnswer& device : analysis_.devices) {
      if (!is_main(device)) continue;
      add_top_kernel(device);
      add_top_op(device);
      add_utilisation(device);
      add_memory(device);
      break;
    }
    add_recorded();
    add_counters();
    add_steps();
    add_serving();
    add_findings();
    add_unknown();
    return std::move(list_);
  }

 private:
  void say(std::string text, std::string figure) { list_.push_back({std::move(text), std::move(figure)}); }

  /// The device that the limiter is about.
  bool is_main(const DeviceAnswer& device) const {
    return analysis_.limiters.empty() || analysis_.limiters[0].on == device.on;
  }

  void add_window() {
    const analyze::WindowAnswer& window = analysis_.window;
    const size_t devices = analysis_.devices.size();
    std::string on = fmt::format("{} devices", devices);
    if (devices == 1) {
      const DeviceAnswer& device = analysis_.devices[0];
      on = device.name ? shown(*device.name) : device_title(device.on);
    }
    say(fmt::format("The window \"{}\" is {} long, on {}.", visible(window.name, 80),
                    duration_text(window.total_ns), on),
        "window");
  }

  void add_limiters() {
    const auto& limiters = analysis_.limiters;
    if (analysis_.devices.empty() && !limiters.empty())
      return say("There is no time line, only times of " + limiters[0].words + ".", "layers");
    static constexpr const char* kStarts[] = {"The largest part", "The next part"};
    for (size_t i = 0; i < std::min<size_t>(2, limiters.size()); i++) {
      const analyze::LimiterAnswer& limiter = limiters[i];
      const bool work = limiter.what == "compute" || limiter.what.starts_with("exposed_");
      say(fmt::format("{} of it, {} ({}) on {}: {}.", kStarts[i], percent_text(limiter.share),
                      duration_text(limiter.time_ns), device_title(limiter.on), limiter.words),
          (work ? "decomposition-" : "idle-") + device_id(limiter.on));
    }
    if (limiters.empty() && !has_recorded_times() && analysis_.host_remarks.empty())
      say("The run has no timed work, so nothing can be said about its time.", "window");
  }

  void add_remarks() {
    if (analysis_.undecided)
      say("The capture cannot tell what limits the run: " + visible(analysis_.undecided->text, kRemark),
          "window");
    for (const analyze::Remark& remark : analysis_.notes) say(visible(remark.text, kRemark), "window");
    for (const analyze::Remark& remark : analysis_.host_remarks) say(visible(remark.text, kRemark), "window");
    if (!analysis_.layers) return;
    for (const analyze::Remark& remark : analysis_.layers->remarks)
      say(visible(remark.text, kRemark), "layers");
  }

  bool has_recorded_times() const {
    const auto& times = analysis_.recorded_times;
    return times && (!times->scopes.empty() || !times->functions.empty());
  }

  void add_function(const std::vector<analyze::RecordedFunction>& functions, const char* what,
                    const char* figure) {
    if (functions.empty() || !functions[0].share) return;
    say(fmt::format("Of the sampled processor time {} was in the {} {}.", percent_text(*functions[0].share),
                    what, shown(functions[0].name)),
        figure);
  }

  void add_recorded() {
    if (!has_recorded_times()) return;
    const analyze::RecordedTimes& times = *analysis_.recorded_times;
    add_function(times.python, "Python function", "recorded-python");
    add_function(times.functions, "function", "recorded-functions");
    if (times.scopes.empty() || !times.scopes[0].own_ns) return;
    const analyze::RecordedScope& scope = times.scopes[0];
    say(fmt::format("The scope with the most time of its own is {}: {} in {}.", shown(scope.name),
                    duration_text(*scope.own_ns), counted(scope.calls.value_or(0), "call")),
        "recorded-scopes");
  }

  /// What a counter profiler saw of the kernel that it replayed longest.
  void add_counters() {
    const auto& counters = analysis_.counters;
    if (!counters || counters->kernels.empty()) return;
    const analyze::CountedKernel& first = counters->kernels[0];
    std::string text =
        fmt::format("A counter profiler replayed {}; the kernel with the most replayed time is {}",
                    counted(counters->launches, "launch", "launches"), shown(first.label));
    if (first.bound) text += ", bound by " + *first.bound;
    if (first.achieved_occupancy_pct)
      text += fmt::format(", with an occupancy of {:.1f} %", *first.achieved_occupancy_pct);
    say(text + ".", "counters");
    for (const analyze::KernelDiagnosis& one : counters->diagnosis)
      say(shown(one.label) + ": " + visible(one.text, kRemark), "counters");
  }

  void add_top_kernel(const DeviceAnswer& device) {
    const auto rows = rows_of(analysis_.top_kernels, device.on);
    if (rows.empty() || !rows[0]->share) return;
    say(fmt::format("The kernel with the most time is {}: {} of the sum of kernels and copies, in {}.",
                    shown(rows[0]->short_name), percent_text(*rows[0]->share),
                    counted(rows[0]->calls, "call")),
        "kernels-" + device_id(device.on));
  }

  /// What a ranking of ops leaves out.
  std::string ignored_words(const DeviceAnswer& device) const {
    for (const analyze::CoverageAnswer& row : analysis_.coverage) {
      if (!(row.on == device.on) || !row.with_op || *row.with_op > kNearlyAll) continue;
      return fmt::format(" {} of the kernel time has no op, so the ranking ignores it.",
                         percent_text(1 - *row.with_op));
    }
    return "";
  }

  void add_top_op(const DeviceAnswer& device) {
    for (const analyze::OpAnswer* row : rows_of(analysis_.top_ops, device.on)) {
      if (row->owner != analyze::Owner::kOp || !row->share) continue;
      return say(fmt::format("The op with the most time is {}: {} of the device time.{}", shown(row->name),
                             percent_text(*row->share), ignored_words(device)),
                 "ops-" + device_id(device.on));
    }
  }

  void add_utilisation(const DeviceAnswer& device) {
    if (device.is_host()) return;
    const Known<double>& mfu = device.metrics.get(Metric::mfu);
    const Known<double>& mbu = device.metrics.get(Metric::mbu);
    const std::string figure = "roofline-" + device_id(device.on);
    if (!mfu) return say("Model FLOPs utilisation is not known: " + mfu.reason() + ".", figure);
    std::string text = "Model FLOPs utilisation is " + percent_text(*mfu);
    if (mbu) text += ", model bandwidth utilisation " + percent_text(*mbu);
    say(text + fmt::format(", from models that cover {} of the kernel time.",
                           percent_text(device.metrics.get(Metric::modelled_share).value_or(0))),
        figure);
  }

  void add_memory(const DeviceAnswer& device) {
    const Known<double>& peak = device.metrics.get(Metric::memory_peak_bytes);
    if (!device.memory || !peak) return;
    say(fmt::format("At most {} of device memory were allocated.", bytes_text(static_cast<int64_t>(*peak))),
        "memory-" + device_id(device.on));
  }

  void add_steps() {
    if (analysis_.steps.list.empty() || analysis_.devices.empty()) return;
    const DeviceAnswer& device = analysis_.devices[0];
    const Known<double>& median = device.metrics.get(Metric::step_median);
    if (!median) return;
    const auto count = static_cast<int64_t>(device.metrics.get(Metric::step_count).value_or(0));
    say(fmt::format("The window has {} (by {}) with a median of {}.", counted(count, "step"),
                    analysis_.steps.source, duration_text(static_cast<int64_t>(*median))),
        "steps-" + device_id(device.on));
  }

  void add_serving() {
    for (const analyze::ServingRow& row : analysis_.serving) {
      std::string text = fmt::format("{}: {} of {}", sentence(serving_words(row)), counted(row.steps, "step"),
                                     duration_text(row.median_ns));
      if (row.tokens_per_s)
        text += fmt::format(", {} tokens per second", grouped(static_cast<int64_t>(*row.tokens_per_s + 0.5)));
      const std::vector<std::string> classes = class_shares(row.classes);
      if (!classes.empty()) text += fmt::format("; time of the kernels: {}", fmt::join(classes, ", "));
      say(text + ".", "window");
    }
    for (const analyze::ModelRoofRow& row : analysis_.model_roof.rows)
      say(sentence(roof_title(row)) + ": " + model_roof_words(row), "window");
  }

  void add_findings() {
    const auto& findings = analysis_.findings;
    if (findings.empty()) return say("No rule found anything to improve.", "findings");
    const analyze::Finding& first = findings[0].finding;
    say(fmt::format("Of {}, the one with the most time at stake ({}) is: {}.",
                    counted(static_cast<int64_t>(findings.size()), "finding"),
                    duration_text(first.at_stake_ns), visible(first.title)),
        "finding-1");
    if (!first.suggestions.empty())
      say("What to try first: " + visible(first.suggestions[0].text), "finding-1");
  }

  void add_unknown() {
    size_t absent = 0;
    for (const DeviceAnswer& device : analysis_.devices) {
      for (size_t i = 0; i < analyze::kMetrics; i++) absent += !device.metrics.get(static_cast<Metric>(i));
    }
    say(fmt::format("{} of {} metrics are absent, each with its reason.", absent,
                    analysis_.devices.size() * analyze::kMetrics),
        "unknown");
  }

  const Analysis& analysis_;
  std::vector<Sentence> list_;
};

}  // namespace

std::vector<Sentence> summary_of(const Analysis& analysis) {
  return Summary(analysis).all();
}

}  // namespace nl::report
