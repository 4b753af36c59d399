#include "ops/screen/analyze_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "ops/runs/recorded_times.h"
#include "ops/runs/run_names.h"
#include "ops/screen/findings_text.h"
#include "ops/text/text.h"
#include "report/compare_words.h"
#include "report/device_label.h"
#include "report/serving_words.h"

namespace nl::ops {
namespace {

using analyze::Analysis;
using analyze::Decomposition;
using analyze::DeviceAnswer;
using analyze::DeviceName;
using report::device_title;

std::string percent_or_dash(const std::optional<double>& share) {
  return share ? percent_text(*share) : "-";
}

double part(int64_t ns, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(ns) / static_cast<double>(whole);
}

constexpr size_t kWordsColumn = 18;    // "  limiter 79.9 %  "
constexpr size_t kRunColumn = 18;      // "run 0123456789ab  "
constexpr size_t kOutsideColumn = 22;  // "  outside 176.080 ms  "

constexpr double kLeastShown = 0.1;  // of the window; less limits nothing

/// The three largest parts of the window, as far as they matter.
std::string limiters_text(const std::vector<analyze::LimiterAnswer>& limiters, const TextStyle& style) {
  std::string out;
  for (size_t i = 0; i < std::min<size_t>(3, limiters.size()); i++) {
    const analyze::LimiterAnswer& limiter = limiters[i];
    if (i > 0 && limiter.share < kLeastShown) break;
    const std::string line =
        fmt::format("{:>6}  {}", percent_text(limiter.share),
                    behind_column(limiter.what + ": " + limiter.words, kWordsColumn, style));
    out += fmt::format("  {} {}\n", i == 0 ? bold("limiter", style) : dim("then   ", style),
                       i == 0 ? bold(line, style) : line);
  }
  return out;
}

constexpr size_t kNoteColumn = 10;  // "  note    "

/// Statements that the figures carry.
std::string remarks_text(const std::vector<analyze::Remark>& remarks, const TextStyle& style) {
  std::string out;
  for (const analyze::Remark& remark : remarks)
    out += fmt::format("  {}    {}\n", dim("note", style), behind_column(remark.text, kNoteColumn, style));
  return out;
}

std::string inference_times_text(const std::optional<analyze::InferenceTimes>& times,
                                 const TextStyle& style) {
  if (!times) return "";
  std::string out = fmt::format("  {} p50 {}", dim("latency", style), duration_text(times->p50_ns));
  if (times->p90_ns) out += ", p90 " + duration_text(*times->p90_ns);
  if (times->p99_ns) out += ", p99 " + duration_text(*times->p99_ns);
  return out + fmt::format(" over {}; {:.1f} queries per second\n", counted(times->count, "inference"),
                           times->per_second);
}

constexpr struct {
  int64_t Decomposition::*ns;
  const char* sign;
  const char* name;
} kParts[] = {{&Decomposition::compute_ns, "█", "compute"},
              {&Decomposition::exposed_comm_ns, "▓", "exposed comm"},
              {&Decomposition::exposed_copy_ns, "▒", "exposed copy"},
              {&Decomposition::idle_ns, "·", "idle"}};

/// One bar of the whole window: each part with its own sign.
std::string decomposition_bar(const Decomposition& time, size_t width) {
  std::string bar;
  double done = 0;
  size_t drawn = 0;
  for (const auto& [ns, sign, name] : kParts) {
    done += part(time.*ns, time.window_ns);
    const auto until = static_cast<size_t>(done * static_cast<double>(width) + 0.5);
    for (; drawn < std::min(until, width); drawn++) bar += sign;
  }
  return bar;
}

/// A host runs ops, and what is not inside of one need not be idle.
std::string host_part(std::string_view name) {
  if (name == "compute") return "ops";
  return name == "idle" ? "outside of ops" : std::string(name);
}

std::string host_cause(std::string_view cause) {
  if (cause == "setup") return "loading and initialisation";
  return cause == "between_runs" ? "between runs" : "scheduling or not recorded";
}

std::string parts_text(const DeviceAnswer& device, const TextStyle& style) {
  const Decomposition& time = device.time;
  std::vector<std::string> parts;
  for (const auto& [ns, sign, name] : kParts) {
    if (time.*ns == 0 && std::string_view(name) != "idle") continue;
    const std::string what = device.is_host() ? host_part(name) : name;
    parts.push_back(fmt::format("{} {} {} {}", sign, what, percent_text(part(time.*ns, time.window_ns)),
                                dim(duration_text(time.*ns), style)));
  }
  return listed(parts, "   ", "  ", style);
}

/// Causes that matter, largest first.
std::string idle_text(const DeviceAnswer& device, const TextStyle& style) {
  std::vector<std::pair<int64_t, std::string>> causes;
  for (const auto& [cause, ns] : device.idle_causes) causes.emplace_back(ns, cause);
  std::sort(causes.rbegin(), causes.rend());
  std::vector<std::string> shown;
  for (const auto& [ns, cause] : causes) {
    const double share = part(ns, device.time.window_ns);
    if (share < 0.0005) continue;
    shown.push_back(fmt::format("{} {}", device.is_host() ? host_cause(cause) : cause, percent_text(share)));
  }
  if (shown.empty()) return "";
  shown.front() = dim(device.is_host() ? "outside of ops: " : "idle causes: ", style) + shown.front();
  return "  " + listed(shown, ", ", "  ", style) + "\n";
}

/// A frame of Python without the folders of its file, if it is too long with them.
std::string span_label(const std::string& name, size_t width) {
  const size_t slash = name.rfind('/', name.find('('));
  if (name.size() <= width || slash == std::string::npos) return shortened(name, width);
  return shortened("…" + name.substr(slash), width);
}

constexpr double kLongGap = 0.1;

/// A gap that is a tenth of the window or more, and what the host did in it.
std::string longest_gap_text(const DeviceAnswer& device, const TextStyle& style) {
  if (device.longest_gaps.empty()) return "";
  const analyze::GapAnswer& gap = device.longest_gaps.front();
  const double share = part(gap.dur_ns, device.time.window_ns);
  if (share < kLongGap || !gap.host_span) return "";
  const auto width = static_cast<size_t>(std::max(style.width - 30, 20));
  return fmt::format("  {}{}, host in {}\n", dim("longest gap: ", style), percent_text(share),
                     span_label(*gap.host_span, width));
}

std::string device_text(const DeviceAnswer& device, const TextStyle& style) {
  const std::string name = device.name ? "  " + *device.name : "";
  const auto width = static_cast<size_t>(std::clamp(style.width - 4, 20, 100));
  std::string out = "  " + bold(device_title(device.on), style) + name + "\n";
  out += "  " + decomposition_bar(device.time, width) + "\n";
  return out + "  " + parts_text(device, style) + "\n" + idle_text(device, style) +
         longest_gap_text(device, style);
}

size_t name_width(const TextStyle& style) {
  return static_cast<size_t>(std::max(style.width, 78) - 58);
}

/// Of many devices one screen shows the busiest; --json has all.
const DeviceName& busiest(const Analysis& data) {
  const auto less_busy = [](const DeviceAnswer& a, const DeviceAnswer& b) {
    return a.time.busy_ns < b.time.busy_ns;
  };
  return std::max_element(data.devices.begin(), data.devices.end(), less_busy)->on;
}
/// What is of no device is always shown.
bool is_shown(const std::optional<DeviceName>& on, const Analysis& data) {
  return data.devices.size() < 2 || !on || *on == busiest(data);
}
std::string shown_device(const Analysis& data) {
  return data.devices.size() < 2 ? "" : " on " + device_title(busiest(data)) + ", the busiest";
}

constexpr size_t kMostDevices = 4;

/// Those that are idle most and least, if there are many.
std::string devices_text(const Analysis& data, const TextStyle& style) {
  std::vector<const DeviceAnswer*> devices;
  for (const DeviceAnswer& device : data.devices) devices.push_back(&device);
  const size_t all = devices.size();
  if (all > kMostDevices) {
    std::stable_sort(devices.begin(), devices.end(), [](const DeviceAnswer* a, const DeviceAnswer* b) {
      return a->time.idle_ns < b->time.idle_ns;
    });
    devices.erase(devices.begin() + kMostDevices / 2, devices.end() - kMostDevices / 2);
  }
  std::string out;
  for (size_t i = 0; i < devices.size(); i++) {
    if (all > kMostDevices && i == kMostDevices / 2) {
      out += "  " +
             dim(fmt::format("{} more devices, with idle time between those above and below",
                             all - kMostDevices),
                 style) +
             "\n";
    }
    out += device_text(*devices[i], style);
  }
  return out;
}

/// Of a capture without a verdict: how much work there is, and no share of anything.
std::string work_text(const Analysis& data) {
  std::string out;
  for (const DeviceAnswer& device : data.devices) {
    const auto kernels = static_cast<int64_t>(device.metrics.get(analyze::Metric::kernel_count).value_or(0));
    out += fmt::format("  {}: {}, {} of work\n", device_title(device.on), counted(kernels, "kernel"),
                       duration_text(device.time.busy_ns));
  }
  return out;
}

/// Kernel time by class, the largest first, and what of it serves a mixture of experts.
std::string classes_text(const Analysis& data, const TextStyle& style) {
  if (data.devices.empty()) return "";
  const DeviceName& on = busiest(data);
  const auto device = std::find_if(data.devices.begin(), data.devices.end(),
                                   [&](const DeviceAnswer& one) { return one.on == on; });
  int64_t sum = 0, experts = 0;
  for (const auto& [name, ns] : device->classes) {
    sum += ns;
    if (name == "moe") experts += ns;
  }
  for (const analyze::KernelAnswer& row : data.top_kernels) {
    if (row.on == on && row.family.find("moe") != std::string::npos && op_class_name(row.op_class) != "moe")
      experts += row.total_ns;
  }
  std::vector<std::string> shown = report::class_shares(device->classes);
  if (shown.size() < 2) return "";
  if (experts > 0) shown.push_back("of all, experts (MoE) " + percent_text(part(experts, sum)));
  shown.front() = dim(device->is_host() ? "ops by class: " : "kernels by class: ", style) + shown.front();
  return "  " + listed(shown, ", ", "  ", style) + "\n";
}

std::string kernels_text(const Analysis& data, const TextStyle& style) {
  if (data.top_kernels.empty()) return "";
  using enum TextTable::Align;
  TextTable table({kRight, kRight, kRight, kRight, kLeft, kLeft, kLeft});
  table.add({"share", "total", "calls", "exposed", "", "class", "kernel"});
  for (const analyze::KernelAnswer& row : data.top_kernels) {
    if (!is_shown(row.on, data)) continue;
    table.add({percent_or_dash(row.share), duration_text(row.total_ns), grouped(row.calls),
               percent_or_dash(row.exposed_share), bar(row.share.value_or(0), 8),
               std::string(op_class_name(row.op_class)), shortened(row.label, name_width(style))});
  }
  return "\n" + bold("Kernels and copies" + shown_device(data) + ", share of the sum of their times", style) +
         "\n" + table.text("  ", true, style);
}

/// Where the ops of graph replays come from and how sure they are, or why there are none.
std::string graph_ops_text(const std::optional<analyze::GraphOpsAnswer>& graphs, const TextStyle& style) {
  if (!graphs) return "";
  const std::string donor =
      (graphs->kind == analyze::DonorKind::kCapture ? "the capture trace " : "the run ") + graphs->donor;
  std::string text;
  if (graphs->is_used()) {
    text = fmt::format(
        "ops of graph replays come from {}: {} of {} matched, {} of their time by the kernel's "
        "name; shapes {}",
        donor, percent_or_dash(graphs->matched), counted(graphs->kernels, "kernel"),
        percent_or_dash(graphs->by_name_time), graphs->shapes);
    if (graphs->refused)
      text += fmt::format("; {} of {} graphs without ops: {}", graphs->graphs - graphs->graphs_matched,
                          graphs->graphs, *graphs->refused);
  } else {
    text = fmt::format("no ops for graph replays: {} does not match: {}", donor,
                       graphs->refused.value_or("its launches have no ops"));
  }
  return fmt::format("  {}    {}\n", dim("note", style), behind_column(text, kNoteColumn, style));
}

std::string ops_text(const Analysis& data, const TextStyle& style) {
  if (data.top_ops.empty()) return "";
  using enum TextTable::Align;
  TextTable table({kRight, kRight, kRight, kLeft, kLeft, kLeft});
  table.add({"share", "time", "calls", "", "class", "op"});
  for (const analyze::OpAnswer& row : data.top_ops) {
    if (!is_shown(row.on, data)) continue;
    const char* owner = row.owner == analyze::Owner::kGraphLaunch ? " (graph)"
                        : row.owner == analyze::Owner::kGraphOp   ? " (in graph)"
                        : row.owner == analyze::Owner::kCall      ? " (no op)"
                                                                  : "";
    table.add({percent_or_dash(row.share), duration_text(row.time_ns()),
               row.calls ? grouped(*row.calls) : "-", bar(row.share.value_or(0), 8),
               std::string(op_class_name(row.op_class)), shortened(row.name + owner, name_width(style))});
  }
  const bool layers = data.top_ops[0].owner == analyze::Owner::kLayer;
  const std::string title =
      layers ? "Layers of the engine, share of the sum of their times"
             : "Ops" + shown_device(data) +
                   (data.top_ops[0].own_ns ? ", share of the sum of their own times"
                                           : ", share of the device time that they launched");
  return "\n" + bold(title, style) + "\n" + table.text("  ", true, style) +
         graph_ops_text(data.graph_ops, style);
}

/// What the layers of the model take; nothing if the source does not name them.
std::string model_layers_text(const Analysis& data, const TextStyle& style) {
  std::string out;
  for (const analyze::DeviceLayers& layers : data.model_layers.devices) {
    if (!is_shown(layers.on, data)) continue;
    for (const analyze::Remark& remark : layers.remarks) out += wrapped(remark.text, "  ", style.width);
  }
  return out.empty() ? "" : "\n" + bold("Layers of the model" + shown_device(data), style) + "\n" + out;
}

std::string phases_text(const Analysis& data, const TextStyle& style) {
  std::string out;
  for (const analyze::PhaseAnswer& row : data.phases) {
    out +=
        fmt::format("  {}: {}, {} on the host; launched {} ({} in graphs), {} on {}\n", row.phase,
                    counted(row.ranges, "range"), duration_text(row.host_ns), counted(row.kernels, "kernel"),
                    grouped(row.graph_kernels), duration_text(row.device_ns), device_title(row.on));
  }
  return out.empty() ? "" : "\n" + bold("Phases", style) + "\n" + out;
}

constexpr int64_t kSmallBatch = 64;  // decoding more requests at once may be bound by compute

const analyze::ModelRoofRow* model_roof_of(const analyze::ServingRow& row, const Analysis& data) {
  const auto& rows = data.model_roof.rows;
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const analyze::ModelRoofRow& one) {
    return one.phase == row.phase && one.requests == row.decode_requests && one.step_ns == row.median_ns;
  });
  return found == rows.end() ? nullptr : &*found;
}

/// Steps that only labels describe; those of an engine have their own lines.
std::string described_steps_text(const Analysis& data, const TextStyle& style) {
  if (!data.serving.empty() || data.model_roof.rows.empty()) return "";
  const analyze::ModelRoofRow& row = data.model_roof.rows.front();
  return "\n" + bold("Against the model", style) + "\n" +
         wrapped(report::roof_title(row) + ": " + report::model_roof_words(row), "  ", style.width);
}

/// A step that decodes few requests reads all weights for little arithmetic.
std::string decode_roof_text(const analyze::ServingRow& row, const Analysis& data, const TextStyle& style) {
  if (const auto* known = model_roof_of(row, data))
    return wrapped(report::model_roof_words(*known), "    ", style.width);
  if (row.phase != "decode_step" || row.decode_requests.value_or(kSmallBatch + 1) > kSmallBatch) return "";
  std::string text = "Each step reads the weights and the KV cache once, so memory bandwidth is its roof";
  const auto& peaks = data.devices.front().roofline.peaks;
  if (peaks && peaks->bandwidth)
    text += fmt::format(
        ": in this time the device can read {}",
        bytes_text(static_cast<int64_t>(*peaks->bandwidth * static_cast<double>(row.median_ns) / 1e9)));
  text += ".";
  if (data.model_roof.absent && peaks) text += " " + report::sentence(*data.model_roof.absent) + ".";
  return wrapped(text, "    ", style.width);
}

/// What the kernels of these steps do. With one kind of steps, the classes of the whole device say it.
std::string step_classes_text(const analyze::ServingRow& row, const TextStyle& style) {
  const std::vector<std::string> shown = report::class_shares(row.classes);
  return shown.empty() ? "" : "    " + listed(shown, ", ", "    ", style) + "\n";
}

std::string serving_text(const Analysis& data, const TextStyle& style) {
  std::string out;
  for (const analyze::ServingRow& row : data.serving) {
    std::vector<std::string> said = {fmt::format("{}: {}, {} each", report::serving_words(row),
                                                 counted(row.steps, "step"), duration_text(row.median_ns))};
    const int64_t tokens = row.prefill_tokens.value_or(0) + row.decode_tokens.value_or(0);
    if (row.tokens_per_s)
      said.push_back(fmt::format("{}, {} tokens/s", counted(tokens, "token"),
                                 grouped(static_cast<int64_t>(*row.tokens_per_s + 0.5))));
    if (row.ns_per_output_token)
      said.push_back(duration_text(*row.ns_per_output_token) + " per output token and request");
    out += "  " + listed(said, "; ", "    ", style) + "\n";
    if (data.serving.size() > 1) out += step_classes_text(row, style);
    out += decode_roof_text(row, data, style);
  }
  return out.empty() ? "" : "\n" + bold("Steps of " + data.serving.front().engine, style) + "\n" + out;
}

/// Devices against their hosts are only worth a line where something is wrong with them, and one clock of two
/// sources is worth none.
bool is_worth_a_line(const analyze::ClockFitAnswer& fit) {
  if (fit.method == "same_clock") return false;
  return !fit.device || fit.applied || fit.violations_before.value_or(0) > 0;
}

constexpr size_t kMostClocks = 8;

std::string number_or_null(const std::optional<int64_t>& number) {
  return number ? std::to_string(*number) : "null";
}

std::string clocks_text(const analyze::ClocksAnswer& clocks, const TextStyle& style) {
  using enum TextTable::Align;
  TextTable table({kRight, kRight, kLeft, kRight, kRight, kRight, kRight, kLeft});
  table.add({"clock", "device", "method", "anchors", "drift ppm", "violations", "bound", ""});
  size_t lines = 0;
  for (const analyze::ClockFitAnswer& fit : clocks.fits) {
    if (!is_worth_a_line(fit) || ++lines > kMostClocks) continue;
    table.add(
        {std::to_string(fit.clock), fit.device ? std::to_string(*fit.device) : "host", fit.method,
         fit.anchors ? grouped(*fit.anchors) : "-",
         fit.drift_ppm ? fmt::format("{:.2f}", *fit.drift_ppm) : "-",
         fmt::format("{} > {}", number_or_null(fit.violations_before), number_or_null(fit.violations_after)),
         fit.bound_ns ? duration_text(*fit.bound_ns) : "unknown", fit.applied ? "" : "not applied"});
  }
  if (lines == 0) return "";
  const std::string more = lines > kMostClocks ? fmt::format("{} more; ", lines - kMostClocks) : "";
  return "\n" + bold("Clocks", style) + "\n" + table.text("  ", true, style) + "  " +
         dim(more + "times of two clocks closer than their bounds cannot be told apart", style) + "\n";
}

std::string launch_matches_text(const std::optional<analyze::LaunchMatches>& matches,
                                const TextStyle& style) {
  if (!matches) return "";
  return fmt::format(
      "  {}\n",
      dim(fmt::format("{} of {} replayed launches found in the trace ({} out of order, {} by function "
                      "only); {} of the trace without counters",
                      grouped(matches->matched), grouped(matches->replayed), grouped(matches->moved),
                      grouped(matches->by_function), counted(matches->kernels_without, "kernel")),
          style));
}

/// Silent if ranks of the job are missing: one of them may be later than all that are there.
std::string straggler_text(const analyze::CollectivesAnswer& data,
                           const std::vector<analyze::Remark>& notes) {
  const bool ranks_missing = std::any_of(
      notes.begin(), notes.end(), [](const analyze::Remark& note) { return note.id == "ranks_missing"; });
  if (!data.straggler || ranks_missing) return "";
  const analyze::StragglerAnswer& straggler = *data.straggler;
  int64_t least = INT64_MAX, most = 0;
  for (const analyze::RankWait& row : data.waits) {
    if (row.rank == straggler.rank) continue;
    least = std::min(least, row.wait_ns);
    most = std::max(most, row.wait_ns);
  }
  return fmt::format(
      "  rank {} waits least and is last in {} of the collectives; the others wait {} to {}, {} of the "
      "window for it\n",
      straggler.rank, percent_text(straggler.last_share), duration_text(least), duration_text(most),
      percent_or_dash(straggler.window_share));
}

std::string time_or_dash(const std::optional<int64_t>& ns) {
  return ns ? duration_text(*ns) : "-";
}

std::string collectives_text(const Analysis& data, const TextStyle& style) {
  const analyze::CollectivesAnswer& block = data.collectives;
  if (block.kinds.empty()) return "";
  using enum TextTable::Align;
  TextTable table({kRight, kRight, kRight, kRight, kRight, kLeft, kLeft});
  table.add({"calls", "size p50", "dur p50", "transfer p50", "bus GB/s", "kind", "group"});
  for (const analyze::CollectiveKindAnswer& row : block.kinds) {
    table.add({grouped(row.calls), row.bytes_p50 ? bytes_text(*row.bytes_p50) : "-",
               time_or_dash(row.dur_p50_ns), time_or_dash(row.transfer_p50_ns),
               row.busbw_bytes_per_s ? fmt::format("{:.2f}", *row.busbw_bytes_per_s * 1e-9) : "-", row.kind,
               shortened(row.group, name_width(style))});
  }
  std::string out = "\n" + bold("Collectives", style) + "\n" + table.text("  ", true, style) +
                    straggler_text(block, data.notes);
  if (block.absent) out += "  " + dim("no waits: " + *block.absent, style) + "\n";
  return out;
}

std::string coverage_text(const Analysis& data, const TextStyle& style) {
  std::string out;
  for (const analyze::CoverageAnswer& row : data.coverage) {
    if (data.devices.size() > kMostDevices && !is_shown(row.on, data)) continue;
    const std::string launch =
        fmt::format("{} {}: {} of the kernel time has its launch", dim("coverage", style),
                    device_title(row.on), percent_or_dash(row.with_launch));
    const std::vector<std::string> all = {launch, percent_or_dash(row.with_op) + " its op",
                                          percent_or_dash(row.classified) + " a class"};
    out += "  " + listed(all, ", ", "  ", style) + "\n";
  }
  return out.empty() ? "" : "\n" + out;
}

/// How far the modelled ops are from the roof; silent if they are less than half of the kernel time.
std::string roof_text(const Analysis& data, const TextStyle& style) {
  std::string out;
  for (const DeviceAnswer& device : data.devices) {
    if (data.devices.size() > kMostDevices && !is_shown(device.on, data)) continue;
    const auto& covered = device.metrics.get(analyze::Metric::modelled_share);
    const auto& reached = device.metrics.get(analyze::Metric::roof_share);
    if (!covered || !reached || *covered < 0.5) continue;
    out += fmt::format("  {} {}: the ops with a model, {} of the kernel time, reach {} of the roof\n",
                       dim("roof", style), device_title(device.on), percent_text(*covered),
                       percent_text(*reached));
  }
  return out;
}

std::string percent_value(const std::optional<double>& percent) {
  return percent ? fmt::format("{:.1f}", *percent) : "-";
}

/// Launches that a counter profiler replayed.
std::string counters_text(const std::optional<analyze::CountersAnswer>& counters, const TextStyle& style) {
  if (!counters) return "";
  using enum TextTable::Align;
  TextTable table({kRight, kRight, kRight, kRight, kRight, kRight, kRight, kRight, kLeft, kLeft});
  table.add(
      {"replay", "calls", "occup. %", "warp %", "L2 hit %", "DRAM %", "SM %", "FLOP/B", "bound", "kernel"});
  for (const analyze::CountedKernel& row : counters->kernels) {
    table.add({time_or_dash(row.replay_ns), grouped(row.launches), percent_value(row.achieved_occupancy_pct),
               percent_value(row.warp_efficiency_pct), percent_value(row.l2_hit_pct),
               percent_value(row.dram_pct), percent_value(row.sm_pct),
               row.intensity ? fmt::format("{:.3g}", *row.intensity) : "-", row.bound.value_or("-"),
               shortened(row.label, name_width(style))});
  }
  std::string out = "\n" + bold("Counters by kernel, means weighted by the replayed time", style) + "\n" +
                    table.text("  ", true, style);
  out += fmt::format("  {} replayed with fixed clocks, {} in all: not the time of the run\n",
                     counted(counters->launches, "launch", "launches"), duration_text(counters->replay_ns));
  return out;
}

/// What holds the kernels back that matter; each kernel is named once.
std::string diagnosis_text(const std::optional<analyze::CountersAnswer>& counters, const TextStyle& style) {
  if (!counters || counters->diagnosis.empty()) return "";
  const auto width = static_cast<size_t>(std::max(style.width, 78) - 4);
  std::string out = "\n" + bold("What holds the kernels back", style) + "\n";
  const analyze::KernelDiagnosis* before = nullptr;
  for (const analyze::KernelDiagnosis& one : counters->diagnosis) {
    if (before == nullptr || before->kernel != one.kernel || before->device != one.device)
      out += "  " + bold(shortened(one.label, width), style) + "\n";
    out += wrapped(one.text, "    ", style.width);
    before = &one;
  }
  return out;
}

std::string outside_text(const analyze::OutsideAnswer& part, const TextStyle& style) {
  if (!part.host_span) return part.why;
  const auto width = static_cast<size_t>(std::max(style.width - 30, 20));
  return fmt::format("{}; longest gap {}, host in {}", part.why, duration_text(*part.longest_gap_ns),
                     span_label(*part.host_span, width));
}

/// Which part of the capture the figures are of, and why; what lies outside of it, with the reason.
std::string window_text(const Analysis& data, const TextStyle& style) {
  const analyze::WindowAnswer& window = data.window;
  if (window.total_ns == 0) return "no time line\n";
  std::string said = fmt::format("window {}, {}", window.name, duration_text(window.total_ns));
  if (!window.outside.empty()) said += " of " + duration_text(window.capture_ns);
  if (window.why) {
    said += ": " + *window.why;
  } else if (data.steps.count != 0) {
    said += fmt::format("; {} by {}", counted(data.steps.count, "step"), data.steps.source);
  }
  std::string out = behind_column(said, kRunColumn, style) + "\n";
  for (const analyze::OutsideAnswer* part : window.shown_outside()) {
    out += fmt::format("  {} {:>10}  {}\n", dim("outside", style), duration_text(part->dur_ns),
                       behind_column(outside_text(*part, style), kOutsideColumn, style));
  }
  return out;
}

}  // namespace

std::string analyze_text(const Outcome& outcome, const TextStyle& style) {
  const auto& answer = answer_of<AnalyzedRun>(outcome);
  const Analysis& data = answer.analysis;
  std::string out = bold("run " + short_id(answer.run_id), style) + "  " + window_text(data, style);
  out += data.undecided
             ? "  " +
                   bold(behind_column("cannot tell what limits the run: " + data.undecided->text, 2, style),
                        style) +
                   "\n"
             : limiters_text(data.limiters, style);
  out += inference_times_text(data.inference_times, style) + remarks_text(data.notes, style) +
         remarks_text(data.host_remarks, style) +
         (data.layers ? remarks_text(data.layers->remarks, style) : "");
  if (style.is_brief) return out + diagnosis_text(data.counters, style) + findings_text(data, style);
  out += data.undecided && data.undecided->id != "unknown_idle"
             ? work_text(data)
             : devices_text(data, style) + classes_text(data, style);
  out += recorded_times_text(data.recorded_times, style);
  return out + kernels_text(data, style) + serving_text(data, style) + described_steps_text(data, style) +
         ops_text(data, style) + model_layers_text(data, style) + phases_text(data, style) +
         collectives_text(data, style) + coverage_text(data, style) + roof_text(data, style) +
         counters_text(data.counters, style) + diagnosis_text(data.counters, style) +
         launch_matches_text(data.launch_matches, style) + clocks_text(data.clocks, style) +
         findings_text(data, style);
}

}  // namespace nl::ops
