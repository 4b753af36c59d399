#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analyze/rules/rule_set.h"
#include "ops/advice/actions.h"
#include "ops/advice/explained.h"
#include "ops/text/figure_text.h"
#include "ops/text/text.h"
#include "report/device_label.h"
#include "store/engine_pool.h"

namespace nl::ops {
namespace {

using analyze::Analysis;
using analyze::DeviceAnswer;
using analyze::Metric;

constexpr char kNoRun[] = "no run was given";
constexpr char kNoDevice[] = "the run has no time line of a device or of ops";

/// The device that is told about first: that of the limiter.
const DeviceAnswer* main_device(const Analysis& data) {
  for (const DeviceAnswer& device : data.devices) {
    if (!data.limiters.empty() && device.on == data.limiters.front().on) return &device;
  }
  return data.devices.empty() ? nullptr : &data.devices.front();
}

// ---- Metrics

std::string metric_meaning(const analyze::MetricInfo& info) {
  std::string out = fmt::format("{} ({}): {}. Unit: {}", info.name, info.id, info.formula, info.unit);
  if (!info.of.empty() && info.of != "1") out += fmt::format(", of {}", info.of);
  if (info.direction != "none") out += fmt::format("; {} is better", info.direction);
  return out + fmt::format(". Computed from: {}.", info.source);
}

ExplainedFigure metric_figure(Metric metric, const DeviceAnswer* device) {
  const analyze::MetricInfo& info = analyze::metric_info(metric);
  ExplainedFigure figure{.name = std::string(info.id),
                         .unit = std::string(info.unit),
                         .text = fmt::format("{}: {}", info.name, info.formula)};
  if (device == nullptr) {
    figure.value = Absent{kNoRun};
    return figure;
  }
  figure.on = device->on;
  figure.value = device->metrics.get(metric);
  return figure;
}

std::string metric_here(Metric metric, const DeviceAnswer& device, const Analysis& data) {
  const analyze::MetricInfo& info = analyze::metric_info(metric);
  const Known<double>& value = device.metrics.get(metric);
  const std::string on = on_words(device.on, data);
  if (!value) return fmt::format("{} is absent{}: {}", info.id, on, value.reason());
  std::string out =
      fmt::format("{} is {}{}", info.id, figure_text_of(info.id, *value, std::string(info.unit)), on);
  if (info.unit == "ns" && data.window.total_ns > 0 && *value <= static_cast<double>(data.window.total_ns))
    out +=
        fmt::format(", {} of the window", percent_text(*value / static_cast<double>(data.window.total_ns)));
  return out;
}

/// Notes on the capture, which hold for every figure.
void add_notes(Explained& out, const Analysis& data) {
  if (data.undecided)
    out.limits.push_back("The capture cannot tell what limits the run: " + data.undecided->text);
  for (const analyze::Remark& note : data.notes) out.limits.push_back(note.text);
}

void set_run(Explained& out, const NamedAnalysis& done) {
  const Analysis& data = done.analysis.data;
  out.run_id = done.named.run_id;
  out.window = data.window.name;
  if (data.window.total_ns > 0) out.wall_ns = data.window.total_ns;
}

/// Metrics whose id has the text in it.
std::string near_ids(const std::string& text) {
  std::vector<std::string_view> ids;
  for (const analyze::MetricInfo& info : analyze::all_metrics()) {
    if (info.id.find(text) != std::string_view::npos && ids.size() < 5) ids.push_back(info.id);
  }
  return ids.empty() ? "" : fmt::format("; near: {}", fmt::join(ids, ", "));
}

// ---- Rules

Result<analyze::Rule> rule_named(const std::string& id) {
  NL_TRY(const auto engine, store::EnginePool::shared().lease({}));
  NL_TRY(auto connection, engine->connect());
  NL_TRY(const auto set, analyze::load_rules(connection, {}));
  if (const analyze::Rule* rule = set.find(id)) return *rule;
  return Error{ErrorCode::kNotFound, "there is no rule named: " + id, "{} lists them", {{"rules"}}};
}

std::string rule_meaning(const analyze::Rule& rule) {
  return fmt::format("{}. The rule fires if {}. The time at stake is {}.", rule.title, rule.condition.text(),
                     rule.at_stake.text());
}

/// Where the rule fired; on the main device before others.
const analyze::FindingOnDevice* finding_of(const std::string& rule, const Analysis& data,
                                           const DeviceAnswer* main) {
  const analyze::FindingOnDevice* first = nullptr;
  for (const auto& one : data.findings) {
    if (one.finding.rule != rule) continue;
    if (main != nullptr && one.on == main->on) return &one;
    if (first == nullptr) first = &one;
  }
  return first;
}

std::string fired_words(const analyze::FindingOnDevice& found, const Analysis& data) {
  const analyze::Finding& finding = found.finding;
  std::string out = fmt::format("{} fires{}: {} at stake", finding.rule, on_words(found.on, data),
                                duration_text(finding.at_stake_ns));
  if (data.window.total_ns > 0)
    out += fmt::format(", {} of the window", percent_text(static_cast<double>(finding.at_stake_ns) /
                                                          static_cast<double>(data.window.total_ns)));
  return out;
}

std::string silent_words(const std::string& rule, const Analysis& data) {
  if (data.devices.empty()) return std::string("no rule was asked: ") + kNoDevice;
  for (const auto& [abstention, on] : data.abstentions) {
    if (abstention.rule == rule)
      return fmt::format("{} could not be asked{}: {}{}", rule, on_words(on, data),
                         abstention.metric ? *abstention.metric + ": " : "", abstention.reason);
  }
  return rule + " does not fire: its condition does not hold here";
}

void add_finding(Explained& out, const analyze::FindingOnDevice& found) {
  const analyze::Finding& finding = found.finding;
  for (const analyze::FindingEvidence& one : finding.evidence)
    out.figures.push_back({found.on, one.of, one.value, one.unit, one.text});
  out.suggestions = finding.suggestions;
  if (!finding.shared_with.empty())
    out.limits.push_back(fmt::format("A part of the time is promised by other rules, too: {}.",
                                     fmt::join(finding.shared_with, ", ")));
}

void add_condition(Explained& out, const analyze::Rule& rule, const DeviceAnswer* device) {
  for (const Metric metric : rule.condition.needed()) {
    const std::string_view id = analyze::metric_info(metric).id;
    const bool is_there = std::any_of(out.figures.begin(), out.figures.end(),
                                      [&](const ExplainedFigure& one) { return one.name == id; });
    if (!is_there) out.figures.push_back(metric_figure(metric, device));
  }
}

void add_rule_suggestions(Explained& out, const analyze::Rule& rule) {
  for (const analyze::RuleSuggestion& one : rule.suggestions)
    out.suggestions.push_back({static_cast<int64_t>(out.suggestions.size()) + 1, one.text,
                               Absent{"only a run tells what it would save"}, one.at_most});
}

const DeviceAnswer* device_of(const Analysis& data, const analyze::DeviceName& on) {
  const auto found = std::find_if(data.devices.begin(), data.devices.end(),
                                  [&](const DeviceAnswer& one) { return one.on == on; });
  return found == data.devices.end() ? nullptr : &*found;
}

/// Of the first metric of the time at stake that has any.
std::vector<ExplainedRow> rows_at_stake(const Analysis& data, const DeviceAnswer& device,
                                        const analyze::Rule& rule) {
  for (const Metric metric : rule.at_stake.needed()) {
    auto rows = rows_behind(data, device, metric);
    if (!rows.empty()) return rows;
  }
  return {};
}

void add_rule_here(Explained& out, const analyze::Rule& rule, const NamedAnalysis& done) {
  const Analysis& data = done.analysis.data;
  set_run(out, done);
  const DeviceAnswer* device = main_device(data);
  const analyze::FindingOnDevice* found = finding_of(rule.id, data, device);
  out.here = found != nullptr ? fired_words(*found, data) : silent_words(rule.id, data);
  if (found != nullptr) {
    device = device_of(data, found->on);
    add_finding(out, *found);
    if (device != nullptr) out.rows = rows_at_stake(data, *device, rule);
  }
  if (device != nullptr) add_condition(out, rule, device);
  add_notes(out, data);
}

}  // namespace

std::string on_words(const analyze::DeviceName& on, const Analysis& data) {
  return data.devices.size() < 2 ? "" : " on " + report::device_title(on);
}

Result<Explained> explain_metric(const std::string& id, const NamedAnalysis* done) {
  const auto metric = analyze::find_metric(id);
  if (!metric)
    return Error{ErrorCode::kNotFound,
                 "there is no metric named: " + id + near_ids(id),
                 "{} lists all",
                 {{"metrics"}}};
  Explained out{.kind = "metric", .name = id, .meaning = metric_meaning(analyze::metric_info(*metric))};
  if (done == nullptr) return out;
  const Analysis& data = done->analysis.data;
  set_run(out, *done);
  const DeviceAnswer* main = main_device(data);
  out.here =
      main == nullptr ? fmt::format("{} is absent: {}", id, kNoDevice) : metric_here(*metric, *main, data);
  if (main == nullptr) out.figures.push_back({{}, id, Absent{kNoDevice}, "", "no device"});
  for (const DeviceAnswer& device : data.devices) out.figures.push_back(metric_figure(*metric, &device));
  if (main != nullptr) out.rows = rows_behind(data, *main, *metric);
  add_notes(out, data);
  return out;
}

Result<Explained> explain_rule(const std::string& id, const NamedAnalysis* done) {
  NL_TRY(const analyze::Rule rule, rule_named(id));
  Explained out{.kind = "finding", .name = id, .meaning = rule_meaning(rule)};
  out.limits.push_back(fmt::format("Confidence: {}. Promises of this rule: {}.",
                                   analyze::confidence_name(rule.confidence), rule.proof));
  if (done != nullptr) {
    add_rule_here(out, rule, *done);
    return out;
  }
  add_condition(out, rule, nullptr);
  add_rule_suggestions(out, rule);
  return out;
}

}  // namespace nl::ops
