#include "report/summary.h"

#include <fmt/core.h>

#include "base/number_text.h"
#include "report/device_label.h"
#include "report/escape.h"
#include "report/figures.h"

namespace nl::report {
namespace {

using nlohmann::json;

constexpr size_t kNameInSentence = 80;

std::string name_of(const json& row, const char* key) {
  return row[key].is_null() ? "(no name)" : visible(row[key].get<std::string>(), kNameInSentence);
}

class Summary {
 public:
  explicit Summary(const json& report) : analysis_(report["analysis"]) {}

  json all() {
    add_window();
    add_limiters();
    for (const json& device : analysis_["devices"]) {
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
    add_findings();
    add_unknown();
    return list_;
  }

 private:
  void say(std::string text, std::string figure) {
    list_.push_back({{"text", std::move(text)}, {"figure", std::move(figure)}});
  }

  /// The device that the limiter is about.
  bool is_main(const json& device) const {
    return analysis_["limiters"].empty() || same_device(analysis_["limiters"][0], device);
  }

  void add_window() {
    const json& window = analysis_["window"];
    const size_t devices = analysis_["devices"].size();
    std::string on = fmt::format("{} devices", devices);
    if (devices == 1) {
      const json& device = analysis_["devices"][0];
      on = device["name"].is_string() ? name_of(device, "name") : device_title(device);
    }
    say(fmt::format("The window \"{}\" is {} long, on {}.", visible(window["name"].get<std::string>(), 80),
                    duration_text(window["total_ns"]), on),
        "window");
  }

  void add_limiters() {
    const json& limiters = analysis_["limiters"];
    static constexpr const char* kStarts[] = {"The largest part", "The next part"};
    for (size_t i = 0; i < std::min<size_t>(2, limiters.size()); i++) {
      const json& limiter = limiters[i];
      const std::string what = limiter["what"];
      const bool work = what == "compute" || what.starts_with("exposed_");
      say(fmt::format("{} of it, {} ({}) on {}: {}.", kStarts[i], percent_text(limiter["share"]),
                      duration_text(limiter["time_ns"]), device_title(limiter),
                      limiter["words"].get<std::string>()),
          (work ? "decomposition-" : "idle-") + device_id(limiter));
    }
    if (limiters.empty() && !has_recorded_times())
      say("The run has no timed work, so that nothing can be said of its time.", "window");
  }

  bool has_recorded_times() const {
    const json times = analysis_.value("recorded_times", json());
    return !times.is_null() && (!times["scopes"].empty() || !times["functions"].empty());
  }

  void add_recorded() {
    if (!has_recorded_times()) return;
    const json& times = analysis_["recorded_times"];
    for (const char* const key : {"python", "functions"}) {
      if (times[key].empty() || times[key][0]["share"].is_null()) continue;
      const json& first = times[key][0];
      say(fmt::format("Of the sampled processor time {} was in the {} {}.", percent_text(first["share"]),
                      std::string_view(key) == "python" ? "Python function" : "function",
                      name_of(first, "name")),
          std::string("recorded-") + key);
    }
    if (times["scopes"].empty() || times["scopes"][0]["own_ns"].is_null()) return;
    const json& scope = times["scopes"][0];
    say(fmt::format("The scope with the most time of its own is {}: {} in {}.", name_of(scope, "name"),
                    duration_text(scope["own_ns"]), counted(scope["calls"], "call")),
        "recorded-scopes");
  }

  /// What a counter profiler saw of the kernel that it replayed longest.
  void add_counters() {
    const json counters = analysis_.value("counters", json());
    if (counters.is_null() || counters["kernels"].empty()) return;
    const json& first = counters["kernels"][0];
    std::string text =
        fmt::format("A counter profiler replayed {}; the kernel with the most replayed time is {}",
                    counted(counters["launches"], "launch", "launches"), name_of(first, "label"));
    if (!first["bound"].is_null()) text += ", bound by " + first["bound"].get<std::string>();
    if (!first["achieved_occupancy_pct"].is_null())
      text += fmt::format(", with an occupancy of {:.1f} %", first["achieved_occupancy_pct"].get<double>());
    say(text + ".", "counters");
  }

  void add_top_kernel(const json& device) {
    const json rows = rows_of(analysis_["top_kernels"], device);
    if (rows.empty() || rows[0]["share"].is_null()) return;
    say(fmt::format("The kernel with the most time is {}: {} of the sum of kernels and copies, in {}.",
                    name_of(rows[0], "short_name"), percent_text(rows[0]["share"]),
                    counted(rows[0]["calls"], "call")),
        "kernels-" + device_id(device));
  }

  void add_top_op(const json& device) {
    const json rows = rows_of(analysis_["top_ops"], device);
    for (const json& row : rows) {
      if (row["owner"] != "op" || row["share"].is_null()) continue;
      return say(fmt::format("The op with the most time is {}: {} of the time of all of them.",
                             name_of(row, "name"), percent_text(row["share"])),
                 "ops-" + device_id(device));
    }
  }

  void add_utilisation(const json& device) {
    if (device["kind"] == "host") return;
    const json& mfu = device["metrics"]["mfu"];
    const json& mbu = device["metrics"]["mbu"];
    const std::string figure = "roofline-" + device_id(device);
    if (!mfu.contains("value"))
      return say("Model FLOPs utilisation is not known: " + mfu.value("absent", "") + ".", figure);
    std::string text = "Model FLOPs utilisation is " + percent_text(mfu["value"]);
    if (mbu.contains("value")) text += ", model bandwidth utilisation " + percent_text(mbu["value"]);
    say(text + fmt::format(", from models that cover {} of the kernel time.",
                           percent_text(device["metrics"]["modelled_share"].value("value", json(0.0)))),
        figure);
  }

  void add_memory(const json& device) {
    const json& peak = device["metrics"]["memory_peak_bytes"];
    if (!device.contains("memory") || !peak.contains("value")) return;
    say(fmt::format("At most {} of device memory were allocated.", bytes_text(peak["value"])),
        "memory-" + device_id(device));
  }

  void add_steps() {
    const json& steps = analysis_["steps"];
    if (steps["list"].empty() || analysis_["devices"].empty()) return;
    const json& device = analysis_["devices"][0];
    const json& median = device["metrics"]["step_median"];
    if (!median.contains("value")) return;
    say(fmt::format("The window has {} (by {}) with a median of {}.",
                    counted(device["metrics"]["step_count"]["value"], "step"),
                    steps["source"].get<std::string>(), duration_text(median["value"].get<int64_t>())),
        "steps-" + device_id(device));
  }

  void add_findings() {
    const json& findings = analysis_["findings"];
    if (findings.empty()) return say("No rule found anything to improve.", "findings");
    const json& first = findings[0];
    say(fmt::format("Of {}, the one with the most time at stake ({}) is: {}.",
                    counted(static_cast<int64_t>(findings.size()), "finding"),
                    duration_text(first["at_stake_ns"]), visible(first["title"].get<std::string>())),
        "finding-1");
    say("What to try first: " + visible(first["suggestions"][0]["text"].get<std::string>()), "finding-1");
  }

  void add_unknown() {
    size_t absent = 0, all = 0;
    for (const json& device : analysis_["devices"]) {
      for (const json& metric : device["metrics"]) {
        all++;
        absent += metric.contains("absent");
      }
    }
    say(fmt::format("{} of {} metrics are absent, each with its reason.", absent, all), "unknown");
  }

  const json& analysis_;
  json list_ = json::array();
};

}  // namespace

json summary_of(const json& report) {
  return Summary(report).all();
}

}  // namespace nl::report
