#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "base/number_text.h"
#include "report/device_label.h"
#include "report/report_sections.h"

namespace nl::report {
namespace {

using analyze::DeviceAnswer;
using analyze::DeviceName;
using analyze::KernelAnswer;
using analyze::Metric;
using analyze::OpAnswer;
using nlohmann::json;

/// Of one device, or of all.
template <class Row>
std::vector<const Row*> rows_of_device(const std::vector<Row>& rows, const DeviceName* device) {
  if (device != nullptr) return rows_of(rows, *device);
  std::vector<const Row*> all;
  for (const Row& row : rows) all.push_back(&row);
  return all;
}

int64_t time_of(const KernelAnswer& row) {
  return row.total_ns;
}
int64_t time_of(const OpAnswer& row) {
  return row.time_ns();
}

template <class Row>
void sort_by_time(std::vector<const Row*>& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row* a, const Row* b) { return time_of(*a) > time_of(*b); });
}

size_t shown(size_t rows, size_t top) {
  return top == 0 ? rows : std::min(rows, top);
}

/// "and 12 more rows with 1.234 ms"
template <class Row>
std::string rest_text(const std::vector<const Row*>& rows, size_t from) {
  if (from >= rows.size()) return "";
  int64_t ns = 0;
  for (size_t i = from; i < rows.size(); i++) ns += time_of(*rows[i]);
  return fmt::format("and {} more with {} in total", grouped(static_cast<int64_t>(rows.size() - from)),
                     duration_text(ns));
}

void add_fact(Table& table, const std::string& what, const json& value) {
  if (value.is_null() || (value.is_string() && value.get<std::string>().empty())) return;
  table.rows.push_back({words(what), name(value.is_string() ? value.get<std::string>() : value.dump())});
}

std::string op_label(const OpAnswer& row) {
  const char* suffix = row.owner == analyze::Owner::kGraphLaunch ? " (graph)"
                       : row.owner == analyze::Owner::kGraphOp   ? " (in graph)"
                       : row.owner == analyze::Owner::kCall      ? " (no op)"
                                                                 : "";
  return row.name + suffix;
}

constexpr Metric kAggregates[] = {Metric::total_time,
                                  Metric::busy_time,
                                  Metric::compute_time,
                                  Metric::exposed_comm_time,
                                  Metric::exposed_copy_time,
                                  Metric::idle_time,
                                  Metric::idle_host_late_time,
                                  Metric::idle_launch_time,
                                  Metric::kernel_count,
                                  Metric::kernel_sum_time,
                                  Metric::kernel_median,
                                  Metric::concurrency,
                                  Metric::launch_count,
                                  Metric::launch_api_median,
                                  Metric::sync_count,
                                  Metric::sync_time,
                                  Metric::copy_count,
                                  Metric::h2d_bytes,
                                  Metric::d2h_bytes,
                                  Metric::host_op_count,
                                  Metric::step_count,
                                  Metric::step_median,
                                  Metric::memory_peak_bytes,
                                  Metric::memory_reserved_peak_bytes,
                                  Metric::mfu,
                                  Metric::mbu,
                                  Metric::roof_share};

constexpr Metric kUtilisation[] = {Metric::mfu,
                                   Metric::mbu,
                                   Metric::roof_share,
                                   Metric::roof_time,
                                   Metric::model_flops,
                                   Metric::model_bytes,
                                   Metric::modelled_share,
                                   Metric::memory_bound_time,
                                   Metric::fp32_matrix_time};

/// Of metrics by device: value, or why there is none.
Table metrics_table(const Report& report, std::span<const Metric> metrics) {
  Table table{{"Device", "Metric", "Value", "Note"}, {}, {}};
  for (const DeviceAnswer& device : report.analysis.devices) {
    for (const Metric metric : metrics) {
      const Known<double>& value = device.metrics.get(metric);
      const analyze::MetricInfo& info = metric_info(metric);
      table.rows.push_back({words(device_title(device.on)), words(std::string(info.name)),
                            value_cell(value, info.unit), words(value ? "" : "absent: " + value.reason())});
    }
  }
  return table;
}

}  // namespace

Table environment_table(const Report& report) {
  Table table{{"What", "Value"}, {}, {}};
  const json &software = report.run.software, &hardware = report.run.hardware;
  add_fact(table, "Backend", software.value("backend", json(nullptr)));
  const json versions = software.value("versions", json::object());
  for (const auto& [what, version] : versions.items()) add_fact(table, what, version);
  for (const json& device : hardware.value("devices", json::array())) {
    std::string text = device.value("name", "?");
    if (device.contains("memory_bytes") && device["memory_bytes"].is_number())
      text += ", " + bytes_text(device["memory_bytes"]);
    if (device.contains("multiprocessors") && device["multiprocessors"].is_number())
      text += ", " + grouped(device["multiprocessors"]) + " multiprocessors";
    add_fact(table, "Device " + (device["device"].is_null() ? "" : device["device"].dump()), text);
  }
  for (const json& host : hardware.value("hosts", json::array())) add_fact(table, "Host", host);
  std::string flags;
  for (const json& flag : report.run.capture.value("flags", json::array()))
    flags += (flags.empty() ? "" : ", ") + flag.get<std::string>();
  add_fact(table, "Recorded with", flags);
  return table;
}

Table aggregates_table(const Report& report) {
  return metrics_table(report, kAggregates);
}

Table utilisation_table(const Report& report) {
  return metrics_table(report, kUtilisation);
}

Table kernels_table(const Report& report, const DeviceName* device, size_t top) {
  const bool with_device = device == nullptr;
  auto rows = rows_of_device(report.analysis.top_kernels, device);
  if (with_device) sort_by_time(rows);
  Table table{{"Kernel", "Class", "Total ms", "Calls", "Mean ms", "Share", "", "Exposed"}, {}, {}};
  if (with_device) table.columns.insert(table.columns.begin() + 1, "Device");
  const size_t count_shown = shown(rows.size(), top);
  for (size_t i = 0; i < count_shown; i++) {
    const KernelAnswer& row = *rows[i];
    std::vector<Cell> cells = {
        name(row.name, row.short_name), words(std::string(op_class_name(row.op_class))),
        milliseconds(row.total_ns),     count(row.calls),
        milliseconds(row.mean_ns),      share(row.share),
        share_bar(row.share),           share(row.exposed_share)};
    if (with_device) cells.insert(cells.begin() + 1, words(device_title(row.on)));
    table.rows.push_back(std::move(cells));
  }
  table.more = rest_text(rows, count_shown);
  return table;
}

Table ops_table(const Report& report, const DeviceName* device, size_t top) {
  const bool with_device = device == nullptr;
  auto rows = rows_of_device(report.analysis.top_ops, device);
  Table table{{"Op", "Class", "Total ms", "Calls", "Mean ms", "Share", ""}, {}, {}};
  if (with_device) table.columns.insert(table.columns.begin() + 1, "Device");
  if (with_device) sort_by_time(rows);
  const size_t count_shown = shown(rows.size(), top);
  for (size_t i = 0; i < count_shown; i++) {
    const OpAnswer& row = *rows[i];
    std::optional<double> mean;
    if (row.calls.value_or(0) != 0)
      mean = static_cast<double>(row.time_ns()) / static_cast<double>(*row.calls);
    std::vector<Cell> cells = {name(op_label(row)),         words(std::string(op_class_name(row.op_class))),
                               milliseconds(row.time_ns()), count(row.calls),
                               milliseconds(mean),          share(row.share),
                               share_bar(row.share)};
    if (with_device) cells.insert(cells.begin() + 1, words(row.on ? device_title(*row.on) : "engine"));
    table.rows.push_back(std::move(cells));
  }
  table.more = rest_text(rows, count_shown);
  return table;
}

Table phases_table(const Report& report) {
  Table table{{"Phase", "Device", "Ranges", "On the host", "On the device", "Kernels", "In graphs"}, {}, {}};
  for (const analyze::PhaseAnswer& row : report.analysis.phases) {
    table.rows.push_back({words(row.phase), words(device_title(row.on)), count(row.ranges),
                          duration(row.host_ns), duration(row.device_ns), count(row.kernels),
                          count(row.graph_kernels)});
  }
  return table;
}

Table steps_table(const Report& report, const DeviceName& device, size_t top) {
  const analyze::StepsAnswer& steps = report.analysis.steps;
  Table table{
      {"Step", "Label", "Length", "Compute", "Exposed communication", "Exposed copy", "Idle"}, {}, {}};
  const size_t count_shown = shown(steps.list.size(), top);
  for (size_t i = 0; i < count_shown; i++) {
    const analyze::StepAnswer& step = steps.list[i];
    const analyze::Decomposition& time = step.on(device);
    table.rows.push_back({words(step.window), name(step.label.value_or("-")), duration(step.dur_ns),
                          duration(time.compute_ns), duration(time.exposed_comm_ns),
                          duration(time.exposed_copy_ns), duration(time.idle_ns)});
  }
  const int64_t left = steps.count - static_cast<int64_t>(count_shown);
  if (left > 0) table.more = "and " + counted(left, "more step");
  return table;
}

}  // namespace nl::report
