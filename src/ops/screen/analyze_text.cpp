#include "ops/screen/analyze_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "ops/runs/recorded_times.h"
#include "ops/runs/run_names.h"
#include "ops/text/text.h"
#include "report/device_label.h"

namespace nl::ops {
namespace {

using nlohmann::json;
using report::device_title;

std::string percent_or_dash(const json& share) {
  return share.is_null() ? "-" : percent_text(share);
}

double part(const json& ns, const json& whole) {
  return whole == 0 ? 0 : ns.get<double>() / whole.get<double>();
}

constexpr size_t kWordsColumn = 18;  // "  limiter 79.9 %  "

/// The three largest parts of the window.
std::string limiters_text(const json& limiters, const TextStyle& style) {
  std::string out;
  for (size_t i = 0; i < std::min<size_t>(3, limiters.size()); i++) {
    const json& limiter = limiters[i];
    const std::string words = limiter["what"].get<std::string>() + ": " + limiter["words"].get<std::string>();
    const std::string line =
        fmt::format("{:>6}  {}", percent_text(limiter["share"]), behind_column(words, kWordsColumn, style));
    out += fmt::format("  {} {}\n", i == 0 ? bold("limiter", style) : dim("then   ", style),
                       i == 0 ? bold(line, style) : line);
  }
  return out;
}

constexpr struct {
  const char* key;
  const char* sign;
  const char* name;
} kParts[] = {{"compute_ns", "█", "compute"},
              {"exposed_comm_ns", "▓", "exposed comm"},
              {"exposed_copy_ns", "▒", "exposed copy"},
              {"idle_ns", "·", "idle"}};

/// One bar of the whole window: each part with its own sign.
std::string decomposition_bar(const json& device, size_t width) {
  std::string bar;
  double done = 0;
  size_t drawn = 0;
  for (const auto& [key, sign, name] : kParts) {
    done += part(device[key], device["window_ns"]);
    const auto until = static_cast<size_t>(done * static_cast<double>(width) + 0.5);
    for (; drawn < std::min(until, width); drawn++) bar += sign;
  }
  return bar;
}

std::string parts_text(const json& device, const TextStyle& style) {
  std::vector<std::string> parts;
  for (const auto& [key, sign, name] : kParts) {
    if (device[key] == 0 && std::string_view(name) != "idle") continue;
    const std::string what = device["kind"] == "host" && std::string_view(name) == "compute" ? "ops" : name;
    parts.push_back(fmt::format("{} {} {} {}", sign, what,
                                percent_text(part(device[key], device["window_ns"])),
                                dim(duration_text(device[key]), style)));
  }
  return listed(parts, "   ", "  ", style);
}

/// Causes that matter, largest first.
std::string idle_text(const json& device, const TextStyle& style) {
  std::vector<std::pair<int64_t, std::string>> causes;
  for (const auto& [cause, ns] : device["idle_causes"].items()) causes.emplace_back(ns.get<int64_t>(), cause);
  std::sort(causes.rbegin(), causes.rend());
  std::vector<std::string> shown;
  for (const auto& [ns, cause] : causes) {
    if (part(ns, device["window_ns"]) < 0.0005) continue;
    shown.push_back(fmt::format("{} {}", cause, percent_text(part(ns, device["window_ns"]))));
  }
  if (shown.empty()) return "";
  shown.front() = dim("idle causes: ", style) + shown.front();
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
std::string longest_gap_text(const json& device, const TextStyle& style) {
  if (device["longest_gaps"].empty()) return "";
  const json& gap = device["longest_gaps"].front();
  const double share = part(gap["dur_ns"], device["window_ns"]);
  if (share < kLongGap || gap["host_span"].is_null()) return "";
  const auto width = static_cast<size_t>(std::max(style.width - 30, 20));
  return fmt::format("  {}{}, host in {}\n", dim("longest gap: ", style), percent_text(share),
                     span_label(gap["host_span"], width));
}

std::string device_text(const json& device, const TextStyle& style) {
  const std::string name = device["name"].is_string() ? "  " + device["name"].get<std::string>() : "";
  std::string out = "  " + bold(device_title(device), style) + name + "\n";
  out += "  " + decomposition_bar(device, static_cast<size_t>(std::clamp(style.width - 4, 20, 100))) + "\n";
  return out + "  " + parts_text(device, style) + "\n" + idle_text(device, style) +
         longest_gap_text(device, style);
}

size_t name_width(const TextStyle& style) {
  return static_cast<size_t>(std::max(style.width, 78) - 58);
}

bool same_device(const json& a, const json& b) {
  return a["device"] == b["device"] && a["rank"] == b["rank"];
}

/// Of many devices one screen shows the busiest; --json has all.
const json& busiest(const json& data) {
  const auto less_busy = [](const json& a, const json& b) { return a["busy_ns"] < b["busy_ns"]; };
  return *std::max_element(data["devices"].begin(), data["devices"].end(), less_busy);
}
bool is_shown(const json& row, const json& data) {
  return data["devices"].size() < 2 || !row.contains("rank") || same_device(row, busiest(data));
}
std::string shown_device(const json& data) {
  return data["devices"].size() < 2 ? "" : " on " + device_title(busiest(data)) + ", the busiest";
}

constexpr size_t kMostDevices = 4;

/// Those that are idle most and least, if there are many.
std::string devices_text(const json& data, const TextStyle& style) {
  std::vector<const json*> devices;
  for (const json& device : data["devices"]) devices.push_back(&device);
  const size_t all = devices.size();
  if (all > kMostDevices) {
    std::stable_sort(devices.begin(), devices.end(),
                     [](const json* a, const json* b) { return (*a)["idle_ns"] < (*b)["idle_ns"]; });
    devices.erase(devices.begin() + kMostDevices / 2, devices.end() - kMostDevices / 2);
  }
  std::string out;
  for (size_t i = 0; i < devices.size(); i++) {
    if (all > kMostDevices && i == kMostDevices / 2) {
      out += "  " +
             dim(fmt::format("{} devices with more idle time than these and less than those below",
                             all - kMostDevices),
                 style) +
             "\n";
    }
    out += device_text(*devices[i], style);
  }
  return out;
}

std::string kernels_text(const json& data, const TextStyle& style) {
  if (data["top_kernels"].empty()) return "";
  using enum TextTable::Align;
  TextTable table({kRight, kRight, kRight, kRight, kLeft, kLeft, kLeft});
  table.add({"share", "total", "calls", "exposed", "", "class", "kernel"});
  for (const json& row : data["top_kernels"]) {
    if (!is_shown(row, data)) continue;
    table.add({percent_or_dash(row["share"]), duration_text(row["total_ns"]), grouped(row["calls"]),
               percent_or_dash(row["exposed_share"]),
               bar(row["share"].is_null() ? 0 : row["share"].get<double>(), 8), row["class"],
               shortened(row["label"].get<std::string>(), name_width(style))});
  }
  return "\n" + bold("Kernels and copies" + shown_device(data) + ", share of the sum of their times", style) +
         "\n" + table.text("  ", true, style);
}

std::string ops_text(const json& data, const TextStyle& style) {
  if (data["top_ops"].empty()) return "";
  using enum TextTable::Align;
  TextTable table({kRight, kRight, kRight, kLeft, kLeft, kLeft});
  table.add({"share", "time", "calls", "", "class", "op"});
  const bool host = data["top_ops"][0].contains("own_ns");
  for (const json& row : data["top_ops"]) {
    if (!is_shown(row, data)) continue;
    const std::string owner = row["owner"] == "graph_launch" ? " (graph)"
                              : row["owner"] == "call"       ? " (no op)"
                                                             : "";
    table.add({percent_or_dash(row["share"]), duration_text(row[host ? "own_ns" : "device_ns"]),
               row["calls"].is_null() ? "-" : grouped(row["calls"]),
               bar(row["share"].is_null() ? 0 : row["share"].get<double>(), 8), row["class"],
               shortened(row["name"].get<std::string>() + owner, name_width(style))});
  }
  const std::string title =
      "Ops" + shown_device(data) +
      (host ? ", share of the sum of their own times" : ", share of the device time that they launched");
  return "\n" + bold(title, style) + "\n" + table.text("  ", true, style);
}

std::string phases_text(const json& data, const TextStyle& style) {
  std::string out;
  for (const json& row : data["phases"]) {
    out += fmt::format("  {}: {}, {} on the host; launched {} ({} in graphs), {} on {}\n",
                       row["phase"].get<std::string>(), counted(row["ranges"], "range"),
                       duration_text(row["host_ns"]), counted(row["kernels"], "kernel"),
                       grouped(row["graph_kernels"]), duration_text(row["device_ns"]), device_title(row));
  }
  return out.empty() ? "" : "\n" + bold("Phases", style) + "\n" + out;
}

/// Devices against their hosts are only worth a line where something is wrong with them, and one clock of two
/// sources is worth none.
bool is_worth_a_line(const json& fit) {
  if (fit["method"] == "same_clock") return false;
  return fit["device"].is_null() || fit["applied"] || fit["violations_before"] > 0;
}

constexpr size_t kMostClocks = 8;

std::string clocks_text(const json& clocks, const TextStyle& style) {
  using enum TextTable::Align;
  TextTable table({kRight, kRight, kLeft, kRight, kRight, kRight, kRight, kLeft});
  table.add({"clock", "device", "method", "anchors", "drift ppm", "violations", "bound", ""});
  size_t lines = 0;
  for (const json& fit : clocks["fits"]) {
    if (!is_worth_a_line(fit) || ++lines > kMostClocks) continue;
    table.add({fit["clock"].dump(), fit["device"].is_null() ? "host" : fit["device"].dump(), fit["method"],
               fit["anchors"].is_null() ? "-" : grouped(fit["anchors"]),
               fit["drift_ppm"].is_null() ? "-" : fmt::format("{:.2f}", fit["drift_ppm"].get<double>()),
               fmt::format("{} > {}", fit["violations_before"].dump(), fit["violations_after"].dump()),
               fit["bound_ns"].is_null() ? "unknown" : duration_text(fit["bound_ns"]),
               fit["applied"] ? "" : "not applied"});
  }
  if (lines == 0) return "";
  const std::string more = lines > kMostClocks ? fmt::format("{} more; ", lines - kMostClocks) : "";
  return "\n" + bold("Clocks", style) + "\n" + table.text("  ", true, style) + "  " +
         dim(more + "times of two clocks that are closer than their bounds are not resolvable", style) + "\n";
}

std::string launch_matches_text(const json& matches, const TextStyle& style) {
  if (matches.is_null()) return "";
  return fmt::format(
      "  {}\n",
      dim(fmt::format("{} of {} replayed launches found in the trace ({} out of order, {} by function "
                      "only); {} of the trace without counters",
                      grouped(matches["matched"]), grouped(matches["replayed"]), grouped(matches["moved"]),
                      grouped(matches["by_function"]), counted(matches["kernels_without"], "kernel")),
          style));
}

std::string straggler_text(const json& data) {
  const json& straggler = data["straggler"];
  if (straggler.is_null()) return "";
  int64_t least = INT64_MAX, most = 0;
  for (const json& row : data["waits"]) {
    if (row["rank"] == straggler["rank"]) continue;
    least = std::min(least, row["wait_ns"].get<int64_t>());
    most = std::max(most, row["wait_ns"].get<int64_t>());
  }
  return fmt::format(
      "  rank {} waits least and is last in {} of the collectives; the others wait {} to {}, {} of the "
      "window for it\n",
      straggler["rank"].dump(), percent_text(straggler["last_share"]), duration_text(least),
      duration_text(most), percent_or_dash(straggler["window_share"]));
}

std::string collectives_text(const json& block, const TextStyle& style) {
  if (block["kinds"].empty()) return "";
  using enum TextTable::Align;
  TextTable table({kRight, kRight, kRight, kRight, kRight, kLeft, kLeft});
  table.add({"calls", "size p50", "dur p50", "transfer p50", "bus GB/s", "kind", "group"});
  for (const json& row : block["kinds"]) {
    const auto time = [&](const char* key) { return row[key].is_null() ? "-" : duration_text(row[key]); };
    table.add({grouped(row["calls"]), row["bytes_p50"].is_null() ? "-" : bytes_text(row["bytes_p50"]),
               time("dur_p50_ns"), time("transfer_p50_ns"),
               row["busbw_bytes_per_s"].is_null()
                   ? "-"
                   : fmt::format("{:.2f}", row["busbw_bytes_per_s"].get<double>() * 1e-9),
               row["kind"], shortened(row["group"].get<std::string>(), name_width(style))});
  }
  std::string out =
      "\n" + bold("Collectives", style) + "\n" + table.text("  ", true, style) + straggler_text(block);
  if (block.contains("absent"))
    out += "  " + dim("no waits: " + block["absent"].get<std::string>(), style) + "\n";
  return out;
}

std::string coverage_text(const json& data, const TextStyle& style) {
  std::string out;
  for (const json& row : data["coverage"]) {
    if (data["devices"].size() > kMostDevices && !is_shown(row, data)) continue;
    const std::string launch =
        fmt::format("{} {}: {} of the kernel time has its launch", dim("coverage", style), device_title(row),
                    percent_or_dash(row["with_launch"]));
    const std::vector<std::string> all = {launch, percent_or_dash(row["with_op"]) + " its op",
                                          percent_or_dash(row["classified"]) + " a class"};
    out += "  " + listed(all, ", ", "  ", style) + "\n";
  }
  return out.empty() ? "" : "\n" + out;
}

std::string percent_value(const json& percent) {
  return percent.is_null() ? "-" : fmt::format("{:.1f}", percent.get<double>());
}

/// Launches that a counter profiler replayed.
std::string counters_text(const json& counters, const TextStyle& style) {
  if (counters.is_null()) return "";
  using enum TextTable::Align;
  TextTable table({kRight, kRight, kRight, kRight, kRight, kRight, kRight, kRight, kLeft, kLeft});
  table.add(
      {"replay", "calls", "occup. %", "warp %", "L2 hit %", "DRAM %", "SM %", "FLOP/B", "bound", "kernel"});
  for (const json& row : counters["kernels"]) {
    table.add({row["replay_ns"].is_null() ? "-" : duration_text(row["replay_ns"]), grouped(row["launches"]),
               percent_value(row["achieved_occupancy_pct"]), percent_value(row["warp_efficiency_pct"]),
               percent_value(row["l2_hit_pct"]), percent_value(row["dram_pct"]), percent_value(row["sm_pct"]),
               row["intensity"].is_null() ? "-" : fmt::format("{:.3g}", row["intensity"].get<double>()),
               row["bound"].is_null() ? "-" : row["bound"].get<std::string>(),
               shortened(row["label"].get<std::string>(), name_width(style))});
  }
  std::string out = "\n" + bold("Counters by kernel, means weighted by the replayed time", style) + "\n" +
                    table.text("  ", true, style);
  out +=
      fmt::format("  {} replayed with fixed clocks, {} in all: not the time of the run\n",
                  counted(counters["launches"], "launch", "launches"), duration_text(counters["replay_ns"]));
  return out;
}

std::string findings_text(const json& data, const TextStyle& style) {
  constexpr std::string_view kBelow = "          ";
  if (data["findings"].empty()) return "\n" + bold("Findings", style) + "\n  none\n";
  std::string out = "\n" + bold("Findings, most time at stake first", style) + "\n";
  std::map<std::string, int> devices;
  for (const json& finding : data["findings"]) devices[finding["rule"]]++;
  for (const json& finding : data["findings"]) {
    const int on = std::exchange(devices[finding["rule"]], 0);
    if (on == 0) continue;  // told with the device that has most at stake
    const double share = part(finding["at_stake_ns"], data["window"]["total_ns"]);
    const std::string by = fmt::format("{}, {} confidence{}", finding["rule"].get<std::string>(),
                                       finding["confidence"].get<std::string>(),
                                       on > 1 ? fmt::format(", most of {} devices", on) : "");
    const std::vector<std::string> title = {bold(finding["title"].get<std::string>(), style), dim(by, style)};
    out += fmt::format("  {:>6}  {}\n", percent_text(share), listed(title, "  ", kBelow, style));
    out += wrapped(finding["suggestions"][0]["text"].get<std::string>(), kBelow, style.width);
  }
  return out;
}

}  // namespace

std::string analyze_text(const Outcome& outcome, const TextStyle& style) {
  const json& data = outcome.data;
  const json& steps = data["steps"];
  std::string out = bold("run " + short_id(data["run_id"]), style) + "  ";
  out += data["window"]["total_ns"] == 0
             ? std::string("no time line")
             : fmt::format("window {}, {}", data["window"]["name"].get<std::string>(),
                           duration_text(data["window"]["total_ns"]));
  if (steps["count"] != 0)
    out += fmt::format("; {} by {}", counted(steps["count"], "step"), steps["source"].get<std::string>());
  out += "\n" + limiters_text(data["limiters"], style);
  out += devices_text(data, style) + recorded_times_text(data["recorded_times"], style);
  return out + kernels_text(data, style) + ops_text(data, style) + phases_text(data, style) +
         collectives_text(data["collectives"], style) + coverage_text(data, style) +
         counters_text(data["counters"], style) + launch_matches_text(data["launch_matches"], style) +
         clocks_text(data["clocks"], style) + findings_text(data, style);
}

}  // namespace nl::ops
