#include "ops/advice/gaps_of_capture.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "ops/text/text.h"

namespace nl::ops {
namespace {

/// Reasons for which a metric is absent, as the analysis writes them, and what to record. Other reasons are
/// of the run itself: a job of one rank has no collectives.
constexpr struct {
  std::string_view reason;
  std::string_view record;
  std::string_view kineto, nsys;  ///< how the profiler is told; empty: it cannot record this
} kRecordings[] = {
    {"no shapes in the source", "Record the shapes of the inputs", "record_shapes=True", ""},
    {"no launch call in the capture", "Trace the calls of the runtime, too", "ProfilerActivity.CPU",
     "nsys profile --trace=cuda,nvtx"},
    {"no runtime calls in the capture", "Trace the calls of the runtime, too", "ProfilerActivity.CPU",
     "nsys profile --trace=cuda,nvtx"},
    {"no ops in the capture", "Record the ops of the host, too", "ProfilerActivity.CPU", ""},
    {"no op with device work in the window", "Record the ops of the host, too", "ProfilerActivity.CPU", ""},
    {"no allocator events of the device", "Record allocations", "profile_memory=True", ""},
    {"fewer than 3 steps", "Record at least 5 steps, and mark them", "profiler.step()", "NVTX ranges"},
    {"fewer than 4 steps", "Record at least 5 steps, and mark them", "profiler.step()", "NVTX ranges"},
};

/// Of a profiler that can record it.
std::optional<std::string> recording_for(const std::string& reason, std::string_view format) {
  for (const auto& [known, record, kineto, nsys] : kRecordings) {
    if (reason != known) continue;
    const std::string_view option = format == "kineto" ? kineto : format.starts_with("nsys") ? nsys : "";
    if (!option.empty()) return fmt::format("{} ({}).", record, option);
  }
  return std::nullopt;
}

bool has_only_hosts(const analyze::Analysis& data) {
  return std::all_of(data.devices.begin(), data.devices.end(),
                     [](const analyze::DeviceAnswer& device) { return device.is_host(); });
}

/// Rules that no device could be asked about.
std::set<std::string> never_asked(const analyze::Analysis& data) {
  std::map<std::string, size_t> devices;
  for (const auto& [abstention, device] : data.abstentions) devices[abstention.rule]++;
  std::set<std::string> rules;
  for (const auto& [rule, count] : devices) {
    if (count == data.devices.size()) rules.insert(rule);
  }
  return rules;
}

}  // namespace

SilentRules silent_rules(const analyze::Analysis& data, const std::string& format) {
  if (data.devices.empty())
    return {.reason = "the file has no time line of a device or of ops, so no rule was asked"};
  const std::set<std::string> all = never_asked(data);
  std::map<std::string, std::set<std::string>> rules;
  for (const auto& [abstention, device] : data.abstentions) {
    if (all.contains(abstention.rule)) rules[abstention.reason].insert(abstention.rule);
  }
  SilentRules out{.count = static_cast<int64_t>(all.size())};
  for (const auto& [reason, ids] : rules) {
    // Most rules are about devices: of a profile of the processor they have nothing to say.
    auto record = has_only_hosts(data) ? std::nullopt : recording_for(reason, format);
    if (record) out.missing.push_back({reason, {ids.begin(), ids.end()}, std::move(*record)});
  }
  const auto has_more = [](const auto& a, const auto& b) { return a.rules.size() > b.rules.size(); };
  std::stable_sort(out.missing.begin(), out.missing.end(), has_more);
  if (!out.missing.empty()) {
    out.reason = out.missing.front().reason;
  } else if (!rules.empty()) {
    out.reason = std::max_element(rules.begin(), rules.end(), [](const auto& a, const auto& b) {
                   return a.second.size() < b.second.size();
                 })->first;
  }
  return out;
}

std::string silent_rules_text(const SilentRules& rules, bool all, const TextStyle& style) {
  if (!rules.count) return "\n" + wrapped(rules.reason.value_or(""), "  ", style.width);
  // Reasons that lie in the run itself help nobody who has advice already.
  if (*rules.count == 0 || (rules.missing.empty() && !all)) return "";
  std::string out =
      "\n" + wrapped(fmt::format("{} could not be asked, for example because: {}",
                                 counted(*rules.count, "rule"), rules.reason.value_or("not known")),
                     "  ", style.width);
  if (!all) return out;
  std::set<std::string> said;
  for (const MissingFact& one : rules.missing) {
    if (said.insert(one.record).second) out += wrapped(one.record, "  ", style.width);
  }
  return out;
}

}  // namespace nl::ops
