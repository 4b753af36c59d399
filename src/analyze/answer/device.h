#pragma once
// The part of an analysis about one device: its time, gaps, memory, metrics and roofline.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyze/answer/device_name.h"
#include "analyze/answer/roofline.h"
#include "analyze/answer/strip.h"
#include "analyze/load/decomposition.h"
#include "analyze/metrics/metric.h"

namespace nl::analyze {

enum class DeviceKind : uint8_t { kDevice, kHost };
std::string_view device_kind_name(DeviceKind kind);

/// One gap in the work of a device.
struct GapAnswer {
  int64_t start_ns = 0;
  int64_t dur_ns = 0;
  std::string cause = {};
  std::optional<std::string> host_span = {};
  std::optional<std::string> next_table = {};
  std::optional<int64_t> next_row = {};

  static constexpr auto fields() {
    using G = GapAnswer;
    return std::tuple{field("start_ns", &G::start_ns, "start, on the common clock"),
                      field("dur_ns", &G::dur_ns, "its length"),
                      field("cause", &G::cause, "idle cause, see docs/metrics.md"),
                      field("host_span", &G::host_span, "what the launching thread did meanwhile"),
                      field("next_table", &G::next_table, "table of the work that ended the gap"),
                      field("next_row", &G::next_row, "row of that table")};
  }
};

/// Rows of tables that the work of a device is in.
struct WorkRows {
  int64_t kernels = 0, copies = 0, spans = 0;

  static constexpr auto fields() {
    return std::tuple{field("kernels", &WorkRows::kernels, "rows of the table kernels"),
                      field("copies", &WorkRows::copies, "rows of the table copies"),
                      field("spans", &WorkRows::spans, "rows of the table spans")};
  }
};

/// Where the work of a device comes from: with it, SQL over the tables gives the same figures.
struct WorkSources {
  WorkRows rows = {};
  std::vector<std::string> communication_names = {};
  std::vector<std::string> copy_span_names = {};

  static constexpr auto fields() {
    using W = WorkSources;
    return std::tuple{
        field("rows", &W::rows, "rows of each table"),
        field("communication_names", &W::communication_names, "names that count as communication"),
        field("copy_span_names", &W::copy_span_names, "names of spans that count as copies")};
  }
};

struct MemoryPoint {
  int64_t time_ns = 0;  ///< since the begin of the window
  int64_t allocated_bytes = 0;
  std::optional<int64_t> reserved_bytes = {};

  static constexpr bool kIsRow = true;
  static constexpr auto fields() {
    using M = MemoryPoint;
    return std::tuple{field("time_ns", &M::time_ns), field("allocated_bytes", &M::allocated_bytes),
                      field("reserved_bytes", &M::reserved_bytes)};
  }
};

struct MemoryAnswer {
  bool relative = false;
  std::vector<MemoryPoint> samples = {};

  static constexpr auto fields() {
    return std::tuple{field("relative", &MemoryAnswer::relative,
                            "true if the source gives only changes: values then count from its first event"),
                      field("samples", &MemoryAnswer::samples, "memory over time")};
  }
};

struct DeviceAnswer {
  DeviceName on = {};
  std::optional<std::string> name = {};
  DeviceKind kind = DeviceKind::kDevice;
  Decomposition time = {};
  int64_t untimed = 0;
  std::map<std::string, int64_t> idle_causes = {};
  std::vector<GapAnswer> longest_gaps = {};
  std::map<std::string, int64_t> classes = {};
  MetricSet metrics = {};
  RooflineAnswer roofline = {};
  std::optional<WorkSources> work = {};                ///< with figures
  std::optional<std::vector<StripColumn>> strip = {};  ///< with figures
  std::optional<MemoryAnswer> memory = {};             ///< with figures, if the source has allocations

  bool is_host() const { return kind == DeviceKind::kHost; }

  static constexpr auto fields() {
    using D = DeviceAnswer;
    return std::tuple{merged(&D::on),
                      field("name", &D::name, "of the hardware"),
                      field("kind", &D::kind, "host if the run has no device work"),
                      merged(&D::time),
                      field("untimed", &D::untimed, "rows without timing; no figure includes them"),
                      field("idle_causes", &D::idle_causes, "ns by cause; they add up to idle_ns"),
                      field("longest_gaps", &D::longest_gaps, "the longest pieces of idle time"),
                      field("classes", &D::classes, "ns of kernels (on a host: ops) by class"),
                      field("metrics", &D::metrics, "by id, see docs/metrics.md"),
                      field("roofline", &D::roofline, "ops compared with the roof of the device"),
                      field_if_any("work", &D::work, "where the work comes from; only in reports"),
                      field_if_any("strip", &D::strip, "the window over time; only in reports"),
                      field_if_any("memory", &D::memory, "memory over time; only in reports")};
  }
};

}  // namespace nl::analyze

namespace nl {

template <>
struct DescribedAs<analyze::DeviceKind> : DescribedEnum<analyze::DeviceKind, analyze::device_kind_name, 2> {};

}  // namespace nl
