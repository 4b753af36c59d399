#include <fmt/core.h>

#include <algorithm>

#include "base/number_text.h"
#include "report/device_label.h"
#include "report/sections.h"

namespace nl::report {
namespace {

using nlohmann::json;

json rows_of_device(const json& rows, const json& device) {
  return device.is_null() ? rows : rows_of(rows, device);
}

size_t shown(size_t rows, size_t top) {
  return top == 0 ? rows : std::min(rows, top);
}

/// "and 12 more rows with 1.234 ms"
std::string rest_text(const json& rows, size_t from, const char* key) {
  if (from >= rows.size()) return "";
  int64_t ns = 0;
  for (size_t i = from; i < rows.size(); i++) ns += rows[i][key].get<int64_t>();
  return fmt::format("and {} more with {} in total", grouped(static_cast<int64_t>(rows.size() - from)),
                     duration_text(ns));
}

void add_fact(Table& table, const std::string& what, const json& value) {
  if (value.is_null() || (value.is_string() && value.get<std::string>().empty())) return;
  table.rows.push_back({words(what), name(value.is_string() ? value.get<std::string>() : value.dump())});
}

std::string op_label(const json& row) {
  const std::string owner = row.value("owner", "");
  const char* suffix = owner == "graph_launch" ? " (graph)" : owner == "call" ? " (no op)" : "";
  return row["name"].get<std::string>() + suffix;
}

constexpr const char* kAggregates[] = {"total_time",
                                       "busy_time",
                                       "compute_time",
                                       "exposed_comm_time",
                                       "exposed_copy_time",
                                       "idle_time",
                                       "idle_host_late_time",
                                       "idle_launch_time",
                                       "kernel_count",
                                       "kernel_sum_time",
                                       "kernel_median",
                                       "concurrency",
                                       "launch_count",
                                       "launch_api_median",
                                       "sync_count",
                                       "sync_time",
                                       "copy_count",
                                       "h2d_bytes",
                                       "d2h_bytes",
                                       "host_op_count",
                                       "step_count",
                                       "step_median",
                                       "memory_peak_bytes",
                                       "memory_reserved_peak_bytes",
                                       "mfu",
                                       "mbu",
                                       "roof_share"};

constexpr const char* kUtilisation[] = {"mfu",
                                        "mbu",
                                        "roof_share",
                                        "roof_time",
                                        "model_flops",
                                        "model_bytes",
                                        "modelled_share",
                                        "memory_bound_time",
                                        "fp32_matrix_time"};

/// Of metrics by device: value, or why there is none.
Table metrics_table(const json& report, const char* const* begin, const char* const* end) {
  Table table{{"Device", "Metric", "Value", "Note"}, {}, {}};
  for (const json& device : report["analysis"]["devices"]) {
    for (const char* const* id = begin; id != end; id++) {
      const json& metric = device["metrics"][*id];
      const json& info = report["metrics"][*id];
      const bool known = metric.contains("value");
      table.rows.push_back({words(device_title(device)), words(info["name"].get<std::string>()),
                            number(known ? value_text(metric["value"], metric["unit"]) : "-"),
                            words(known ? "" : "absent: " + metric["absent"].get<std::string>())});
    }
  }
  return table;
}

}  // namespace

Table environment_table(const json& report) {
  Table table{{"What", "Value"}, {}, {}};
  const json& run = report["run"];
  add_fact(table, "Backend", run["software"].value("backend", json(nullptr)));
  const json versions = run["software"].value("versions", json::object());
  for (const auto& [what, version] : versions.items()) add_fact(table, what, version);
  for (const json& device : run["hardware"].value("devices", json::array())) {
    std::string text = device.value("name", "?");
    if (device.contains("memory_bytes") && device["memory_bytes"].is_number())
      text += ", " + bytes_text(device["memory_bytes"]);
    if (device.contains("multiprocessors") && device["multiprocessors"].is_number())
      text += ", " + grouped(device["multiprocessors"]) + " multiprocessors";
    add_fact(table, "Device " + (device["device"].is_null() ? "" : device["device"].dump()), text);
  }
  for (const json& host : run["hardware"].value("hosts", json::array())) add_fact(table, "Host", host);
  std::string flags;
  for (const json& flag : run["capture"].value("flags", json::array()))
    flags += (flags.empty() ? "" : ", ") + flag.get<std::string>();
  add_fact(table, "Recorded with", flags);
  return table;
}

Table aggregates_table(const json& report) {
  return metrics_table(report, std::begin(kAggregates), std::end(kAggregates));
}

Table utilisation_table(const json& report) {
  return metrics_table(report, std::begin(kUtilisation), std::end(kUtilisation));
}

Table kernels_table(const json& report, const json& device, size_t top, bool with_device) {
  json rows = rows_of_device(report["analysis"]["top_kernels"], device);
  if (with_device) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const json& a, const json& b) { return a["total_ns"] > b["total_ns"]; });
  }
  Table table{{"Kernel", "Class", "Total ms", "Calls", "Mean ms", "Share", "", "Exposed"}, {}, {}};
  if (with_device) table.columns.insert(table.columns.begin() + 1, "Device");
  const size_t count_shown = shown(rows.size(), top);
  for (size_t i = 0; i < count_shown; i++) {
    const json& row = rows[i];
    std::vector<Cell> cells = {name(row["name"], row["short_name"]),
                               words(row["class"]),
                               milliseconds(row["total_ns"]),
                               count(row["calls"]),
                               milliseconds(row["mean_ns"]),
                               share(row["share"]),
                               share_bar(row["share"]),
                               share(row["exposed_share"])};
    if (with_device) cells.insert(cells.begin() + 1, words(device_title(row)));
    table.rows.push_back(std::move(cells));
  }
  table.more = rest_text(rows, count_shown, "total_ns");
  return table;
}

Table ops_table(const json& report, const json& device, size_t top, bool with_device) {
  json rows = json::array();
  for (const json& row : report["analysis"]["top_ops"]) {
    const bool layer = row.value("owner", "") == "layer";
    if (layer ? device.is_null() : device.is_null() || same_device(row, device)) rows.push_back(row);
  }
  Table table{{"Op", "Class", "Total ms", "Calls", "Mean ms", "Share", ""}, {}, {}};
  if (with_device) table.columns.insert(table.columns.begin() + 1, "Device");
  if (rows.empty()) return table;
  const char* key = rows[0].contains("own_ns") ? "own_ns" : "device_ns";
  if (with_device) {
    std::stable_sort(rows.begin(), rows.end(), [&](const json& a, const json& b) { return a[key] > b[key]; });
  }
  const size_t count_shown = shown(rows.size(), top);
  for (size_t i = 0; i < count_shown; i++) {
    const json& row = rows[i];
    const bool counted = row["calls"].is_number() && row["calls"] != 0;
    const json mean = counted ? json(row[key].get<double>() / row["calls"].get<double>()) : json(nullptr);
    std::vector<Cell> cells = {name(op_label(row)),    words(row["class"]), milliseconds(row[key]),
                               count(row["calls"]),    milliseconds(mean),  share(row["share"]),
                               share_bar(row["share"])};
    if (with_device)
      cells.insert(cells.begin() + 1, words(row.contains("device") ? device_title(row) : "engine"));
    table.rows.push_back(std::move(cells));
  }
  table.more = rest_text(rows, count_shown, key);
  return table;
}

Table phases_table(const json& report) {
  Table table{{"Phase", "Device", "Ranges", "On the host", "On the device", "Kernels", "In graphs"}, {}, {}};
  for (const json& row : report["analysis"]["phases"]) {
    table.rows.push_back({words(row["phase"]), words(device_title(row)), count(row["ranges"]),
                          duration(row["host_ns"]), duration(row["device_ns"]), count(row["kernels"]),
                          count(row["graph_kernels"])});
  }
  return table;
}

Table steps_table(const json& report, const json& device, size_t top) {
  const json& steps = report["analysis"]["steps"];
  Table table{
      {"Step", "Label", "Length", "Compute", "Exposed communication", "Exposed copy", "Idle"}, {}, {}};
  const size_t count_shown = shown(steps["list"].size(), top);
  for (size_t i = 0; i < count_shown; i++) {
    const json& step = steps["list"][i];
    const json parts = rows_of(step["devices"], device);
    table.rows.push_back({words(step["window"]), name(step["label"].is_null() ? "-" : step["label"]),
                          duration(step["dur_ns"]), duration(parts[0]["compute_ns"]),
                          duration(parts[0]["exposed_comm_ns"]), duration(parts[0]["exposed_copy_ns"]),
                          duration(parts[0]["idle_ns"])});
  }
  const int64_t left = steps["count"].get<int64_t>() - static_cast<int64_t>(count_shown);
  if (left > 0) table.more = "and " + counted(left, "more step");
  return table;
}

}  // namespace nl::report
