#include "analyze/analysis.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "analyze/time/limiter.h"
#include "analyze/time/strip.h"
#include "base/call_control.h"
#include "model/batch.h"

namespace nl::analyze {
namespace {

using nlohmann::json;

constexpr size_t kStepsShown = 200;
constexpr size_t kMemorySamples = 400;
constexpr int64_t kGapsShown = 100;

json optional_number(const std::optional<int32_t>& number) {
  return number ? json(*number) : json(nullptr);
}

json device_key(const Device& device) {
  return device.is_host ? json("cpu") : optional_number(device.number);
}

json share_of(int64_t part, int64_t whole) {
  return whole == 0 ? json(nullptr) : json(static_cast<double>(part) / static_cast<double>(whole));
}

/// Entry of a device in run.json; of several ranks' files the first that has it. null if there is none.
json hardware_of(const json& document, const Device& device) {
  const json& all = document["hardware"]["devices"];
  const json* found = nullptr;
  for (const auto& entry : all) {
    if (!device.number || entry["device"] != *device.number) continue;
    const bool own = device.rank && entry.value("rank", int64_t{-1}) == *device.rank;
    if (own || found == nullptr) found = &entry;
  }
  if (found != nullptr) return *found;
  return !device.number && !device.is_host && all.size() == 1 ? all[0] : json(nullptr);
}

std::string hardware_name(const json& entry) {
  return entry.is_object() ? entry.value("name", "") : "";
}

std::optional<int64_t> number_of(const json& entry, const char* key) {
  const auto it = entry.find(key);
  if (it == entry.end() || !it->is_number_integer()) return std::nullopt;
  return it->get<int64_t>();
}

Known<DevicePeaks> peaks_of(const PeakTable& table, const json& entry) {
  const std::string name = hardware_name(entry);
  if (name.empty()) return Absent{"the source does not name the device"};
  return table.find(DeviceFacts{name, number_of(entry, "memory_bytes"), number_of(entry, "multiprocessors")});
}

void add_memory(MeasuredDevice& device, const IntervalSet& window) {
  const MemoryPeaks peaks = memory_peaks(device.memory, window);
  const auto as_double = [](int64_t bytes) { return static_cast<double>(bytes); };
  device.metrics.set(Metric::memory_peak_bytes, map(peaks.allocated, as_double));
  device.metrics.set(Metric::memory_reserved_peak_bytes, map(peaks.reserved, as_double));
  device.metrics.set(
      Metric::memory_slack,
      combine(peaks.allocated, peaks.reserved, [](int64_t used, int64_t reserved) -> Known<double> {
        if (reserved <= 0) return Absent{"nothing is reserved"};
        return 1 - static_cast<double>(used) / static_cast<double>(reserved);
      }));
  if (device.memory == nullptr) {
    device.metrics.absent(Metric::allocation_count, "no allocator events of the device");
  } else {
    device.metrics.set(Metric::allocation_count, peaks.events);
  }
}

void add_roofline(MeasuredDevice& device, const PreparedRun& run, const Sources& sources, const json& entry,
                  const IntervalSet& window) {
  const Known<DevicePeaks> peaks = peaks_of(sources.peaks, entry);
  if (device.state->device.is_host) {
    device.roofline.peaks = Absent{"no device work in the run"};
    device.roofline.without_model["no device work in the run"] = 0;
  } else {
    device.roofline = op_roofline(run, sources.arguments, device.state->device, peaks, window);
  }
  set_roofline_metrics(device.metrics, device.roofline);
}

json decomposition_json(const Decomposition& sum) {
  return {{"window_ns", sum.window_ns},
          {"compute_ns", sum.compute_ns},
          {"exposed_comm_ns", sum.exposed_comm_ns},
          {"exposed_copy_ns", sum.exposed_copy_ns},
          {"idle_ns", sum.idle_ns},
          {"busy_ns", sum.busy_ns},
          {"comm_ns", sum.comm_ns},
          {"copy_ns", sum.copy_ns},
          {"overlap_ns", sum.overlap_ns}};
}

json causes_json(const DeviceState& state, const IntervalSet& window) {
  json causes = json::object();
  const auto sums = idle_causes(state.idle, window);
  for (size_t i = 0; i < kIdleCauses; i++) {
    if (sums[i] > 0) causes[std::string(idle_cause_name(static_cast<IdleCause>(i)))] = sums[i];
  }
  return causes;
}

/// Name of a span, or null.
json span_name(const Timeline& run, uint32_t span) {
  return span == kNoRow ? json(nullptr) : json(run.names[run.spans.name[span]]);
}

/// The longest pieces of idle time, to be looked at in a viewer.
json longest_gaps(const Timeline& run, const DeviceState& state, const IntervalSet& window, size_t most) {
  std::vector<IdlePiece> pieces;
  for (const IdlePiece& piece : state.idle) {
    if (length_inside(window, piece.time) > 0) pieces.push_back(piece);
  }
  const size_t kept = std::min(most, pieces.size());
  std::partial_sort(pieces.begin(), pieces.begin() + static_cast<ptrdiff_t>(kept), pieces.end(),
                    [](const IdlePiece& a, const IdlePiece& b) {
                      return std::pair(-a.time.length(), a.time.begin) <
                             std::pair(-b.time.length(), b.time.begin);
                    });
  pieces.resize(kept);
  const std::vector<uint32_t> spans = host_spans(run, state.device, pieces);
  static constexpr const char* kTables[] = {"kernels", "copies", "spans"};
  json list = json::array();
  for (size_t i = 0; i < kept; i++) {
    const IdlePiece& piece = pieces[i];
    const Work* next = piece.next == kNoRow ? nullptr : &state.device.work[piece.next];
    list.push_back(
        {{"start_ns", piece.time.begin},
         {"dur_ns", piece.time.length()},
         {"cause", idle_cause_name(piece.cause)},
         {"host_span", span_name(run, spans[i])},
         {"next_table", next == nullptr ? json(nullptr) : json(kTables[static_cast<size_t>(next->table)])},
         {"next_row", next == nullptr ? json(nullptr) : json(next->row)}});
  }
  return list;
}

json classes_json(const MetricSet& metrics) {
  json classes = json::object();
  for (size_t i = 0; i < kOpClasses; i++) {
    const auto op_class = static_cast<OpClass>(i);
    const auto& ns = metrics.get(class_metric(op_class));
    if (ns && *ns > 0) classes[std::string(op_class_name(op_class))] = static_cast<int64_t>(*ns);
  }
  return classes;
}

json memory_json(const MemoryTimeline& memory, const IntervalSet& window) {
  json samples = json::array();
  for (const MemorySample& sample : thinned(memory.samples, window, kMemorySamples)) {
    samples.push_back({sample.time - window.front().begin, sample.allocated,
                       sample.reserved == model::kNull ? json(nullptr) : json(sample.reserved)});
  }
  return {{"relative", memory.relative}, {"samples", samples}};
}

/// Which tables the work of a device is in, and the names that the decomposition takes for communication and,
/// of spans, for copies: with them, SQL over the tables gives the same figures.
json work_json(const Device& device, const Names& names) {
  std::array<int64_t, 3> rows{};
  std::set<uint32_t> communication, copies;
  for (const Work& work : device.work) {
    rows[static_cast<size_t>(work.table)]++;
    if (work.kind == WorkKind::kCommunication) communication.insert(work.name);
    if (work.kind == WorkKind::kCopy && work.table == WorkTable::kSpans) copies.insert(work.name);
  }
  const auto texts = [&](const std::set<uint32_t>& ids) {
    std::set<std::string> sorted;
    for (const uint32_t id : ids) sorted.emplace(names[id]);
    return sorted;
  };
  return {{"rows", {{"kernels", rows[0]}, {"copies", rows[1]}, {"spans", rows[2]}}},
          {"communication_names", texts(communication)},
          {"copy_span_names", texts(copies)}};
}

json device_json(const MeasuredDevice& measured, const Timeline& run, const IntervalSet& window,
                 const AnalysisOptions& options) {
  const Device& device = measured.state->device;
  json out = decomposition_json(decompose(device, window));
  out["device"] = device_key(device);
  out["rank"] = optional_number(device.rank);
  out["name"] = measured.name.empty() ? json(nullptr) : json(measured.name);
  out["kind"] = device.is_host ? "host" : "device";
  out["untimed"] = device.untimed;
  out["idle_causes"] = causes_json(*measured.state, window);
  out["longest_gaps"] =
      longest_gaps(run, *measured.state, window, static_cast<size_t>(std::min(options.top, kGapsShown)));
  out["classes"] = classes_json(measured.metrics);
  out["metrics"] = metrics_json(measured.metrics);
  out["roofline"] = to_json(measured.roofline, options.top);
  if (options.with_figures) {
    out["work"] = work_json(device, run.names);
    out["strip"] = strip_json(device, window);
    if (measured.memory != nullptr && !window.empty()) out["memory"] = memory_json(*measured.memory, window);
  }
  return out;
}

/// Of the device with the largest first one.
json limiters_json(const Measured& measured) {
  const MeasuredDevice* most = nullptr;
  std::vector<Limiter> best;
  for (const MeasuredDevice& device : measured.devices) {
    auto list = limiters(device.metrics, device.state->device.is_host);
    if (list.empty() || (!best.empty() && best.front().share >= list.front().share)) continue;
    most = &device;
    best = std::move(list);
  }
  json out = json::array();
  for (const Limiter& limiter : best) {
    out.push_back({{"device", device_key(most->state->device)},
                   {"rank", optional_number(most->state->device.rank)},
                   {"what", limiter.what},
                   {"time_ns", limiter.time_ns},
                   {"share", limiter.share},
                   {"words", limiter.words}});
  }
  return out;
}

/// The first rows of a table, and what the others come to.
template <class Row, class ToJson, class Time>
json top_rows(const std::vector<Row>& rows, int64_t top, ToJson&& to_json, Time&& time, json& others) {
  json list = json::array();
  int64_t left = 0, left_ns = 0;
  for (const Row& row : rows) {
    if (static_cast<int64_t>(list.size()) < top) {
      list.push_back(to_json(row));
    } else {
      left++;
      left_ns += time(row);
    }
  }
  others = {{"rows", left}, {"total_ns", left_ns}};
  return list;
}

/// Rows of all devices, each with its device, by time.
void append_rows(json& to, const json& rows, const Device& device) {
  for (json row : rows) {
    row["device"] = device_key(device);
    row["rank"] = optional_number(device.rank);
    to.push_back(std::move(row));
  }
}

class Tables {
 public:
  Tables(const PreparedRun& run, const Measured& measured, const Taxonomy& taxonomy, int64_t top)
      : run_(run), measured_(measured), taxonomy_(taxonomy), top_(top) {}

  void add(json& out) {
    json kernels = json::array(), ops = json::array(), modules = json::array(), phases = json::array(),
         others = json::array();
    for (const MeasuredDevice& device : measured_.devices) {
      json rest = {{"device", device_key(device.state->device)},
                   {"rank", optional_number(device.state->device.rank)}};
      if (device.state->device.is_host) {
        append_rows(ops, host_ops(rest["ops"]), device.state->device);
      } else {
        append_rows(kernels, kernel_table(device, rest["kernels"]), device.state->device);
        if (device.state->device.has_records)
          append_rows(ops, op_table(device, rest["ops"]), device.state->device);
        append_rows(modules, module_table(device, rest["modules"]), device.state->device);
        append_rows(phases, phase_table(device), device.state->device);
      }
      others.push_back(rest);
    }
    out["top_kernels"] = kernels;
    out["top_ops"] = ops;
    out["top_modules"] = modules;
    out["phases"] = phases;
    out["not_shown"] = others;
  }

 private:
  std::string name_of(uint32_t id) const { return std::string(run_.timeline.names[id]); }

  json kernel_table(const MeasuredDevice& device, json& rest) const {
    const auto rows = kernel_rows(run_.timeline, device.state->device, measured_.window);
    int64_t sum = 0;
    for (const KernelRow& row : rows) sum += row.total_ns;
    return top_rows(
        rows, top_, [&](const KernelRow& row) { return kernel_json(row, sum); },
        [](const KernelRow& row) { return row.total_ns; }, rest);
  }

  json kernel_json(const KernelRow& row, int64_t sum) const {
    const KernelIdentity identity = taxonomy_.kernel(run_.timeline.names[row.name]);
    return {{"name", name_of(row.name)},
            {"short_name", row.is_copy ? name_of(row.name) : identity.name.short_name},
            {"label", row.is_copy ? name_of(row.name) : kernel_label(identity.name)},
            {"class", row.is_copy ? "memory" : std::string(op_class_name(run_.classes.kernel[row.name]))},
            {"family", row.is_copy ? json("copy") : json(identity.family)},
            {"is_copy", row.is_copy},
            {"total_ns", row.total_ns},
            {"calls", row.calls},
            {"mean_ns", row.calls == 0
                            ? json(nullptr)
                            : json(static_cast<double>(row.total_ns) / static_cast<double>(row.calls))},
            {"share", share_of(row.total_ns, sum)},
            {"longest_ns", row.longest_ns},
            {"longest_row", row.longest_row},
            {"exposed_ns", row.exposed_ns},
            {"exposed_share", share_of(row.exposed_ns, row.total_ns)}};
  }

  json op_table(const MeasuredDevice& device, json& rest) const {
    const auto rows = op_rows(run_.timeline, device.state->device, measured_.window);
    int64_t sum = 0;
    for (const OpRow& row : rows) sum += row.device_ns;
    return top_rows(
        rows, top_,
        [&](const OpRow& row) -> json {
          const bool nobody = row.owner == Owner::kNoLaunch;
          return {{"name", nobody ? "(launch not in the capture)" : name_of(row.name)},
                  {"op_type", nobody ? json(nullptr) : json(name_of(row.op_type))},
                  {"class", row.owner == Owner::kOp
                                ? std::string(op_class_name(taxonomy_.op(name_of(row.op_type))))
                                : std::string("control")},
                  {"owner", owner_name(row.owner)},
                  {"device_ns", row.device_ns},
                  {"calls", nobody ? json(nullptr) : json(row.calls)},
                  {"kernels", row.works},
                  {"share", share_of(row.device_ns, sum)}};
        },
        [](const OpRow& row) { return row.device_ns; }, rest);
  }

  json host_ops(json& rest) const {
    const auto rows = host_op_rows(run_.timeline, measured_.window);
    int64_t sum = 0;
    for (const HostOpRow& row : rows) sum += row.own_ns;
    return top_rows(
        rows, top_,
        [&](const HostOpRow& row) -> json {
          return {{"name", name_of(row.name)},
                  {"op_type", name_of(row.op_type)},
                  {"class", std::string(op_class_name(taxonomy_.op(name_of(row.op_type))))},
                  {"owner", "op"},
                  {"own_ns", row.own_ns},
                  {"calls", row.calls},
                  {"share", share_of(row.own_ns, sum)}};
        },
        [](const HostOpRow& row) { return row.own_ns; }, rest);
  }

  json module_table(const MeasuredDevice& device, json& rest) const {
    const auto rows = module_rows(run_.timeline, device.state->device, measured_.window);
    int64_t sum = 0;
    for (const ModuleRow& row : rows) sum += row.device_ns;
    return top_rows(
        rows, top_,
        [&](const ModuleRow& row) -> json {
          return {{"path", row.path.empty() ? json(nullptr) : json(row.path)},
                  {"device_ns", row.device_ns},
                  {"kernels", row.works},
                  {"share", share_of(row.device_ns, sum)}};
        },
        [](const ModuleRow& row) { return row.device_ns; }, rest);
  }

  json phase_table(const MeasuredDevice& device) const {
    json list = json::array();
    for (const PhaseRow& row :
         phase_rows(run_.timeline, run_.windows, device.state->device, measured_.window)) {
      list.push_back({{"phase", phase_name(row.phase)},
                      {"ranges", row.ranges},
                      {"host_ns", row.host_ns},
                      {"device_ns", row.device_ns},
                      {"kernels", row.kernels},
                      {"graph_kernels", row.graph_kernels}});
    }
    return list;
  }

  const PreparedRun& run_;
  const Measured& measured_;
  const Taxonomy& taxonomy_;
  int64_t top_;
};

json coverage_json(const PreparedRun& run, const Measured& measured) {
  json list = json::array();
  for (const MeasuredDevice& device : measured.devices) {
    if (device.state->device.is_host) continue;
    const Coverage sum = coverage_of(run.timeline, device.state->device, measured.window);
    const auto other = static_cast<int64_t>(device.metrics.get(Metric::other_kernel_time).value_or(0));
    list.push_back({{"device", device_key(device.state->device)},
                    {"rank", optional_number(device.state->device.rank)},
                    {"kernel_ns", sum.kernels_ns},
                    {"with_launch_ns", sum.with_launch_ns},
                    {"with_launch", share_of(sum.with_launch_ns, sum.kernels_ns)},
                    {"with_op_ns", sum.with_op_ns},
                    {"with_op", share_of(sum.with_op_ns, sum.kernels_ns)},
                    {"in_graphs_ns", sum.graph_ns},
                    {"in_graphs", share_of(sum.graph_ns, sum.kernels_ns)},
                    {"classified", share_of(sum.kernels_ns - other, sum.kernels_ns)},
                    {"untimed", device.state->device.untimed}});
  }
  return list;
}

json steps_json(const PreparedRun& run, const Measured& measured) {
  const Steps& steps = run.windows.steps;
  json list = json::array();
  for (size_t i = 0; i < std::min(steps.list.size(), kStepsShown); i++) {
    const IntervalSet window = union_of({steps.list[i].time});
    json devices = json::array();
    for (const MeasuredDevice& device : measured.devices) {
      json row = decomposition_json(decompose(device.state->device, window));
      row["device"] = device_key(device.state->device);
      row["rank"] = optional_number(device.state->device.rank);
      devices.push_back(row);
    }
    list.push_back({{"window", "step:" + std::to_string(i)},
                    {"label", steps.list[i].label.empty() ? json(nullptr) : json(steps.list[i].label)},
                    {"start_ns", steps.list[i].time.begin},
                    {"dur_ns", steps.list[i].time.length()},
                    {"devices", devices}});
  }
  return {{"source", steps.source},
          {"count", steps.list.size()},
          {"confidence", steps.source == "none" ? json(nullptr) : json(steps.confidence)},
          {"kernels_in_period", steps.source == "period" ? json(steps.period) : json(nullptr)},
          {"list", list}};
}

/// Share of the kernel time that the value is drawn from, where it is not all of it.
std::optional<double> metric_coverage(const MetricSet& metrics, Metric metric) {
  const std::string_view section = metric_info(metric).section;
  const auto is = [&](std::string_view start) { return section.starts_with(start); };
  if (is("Idle causes") || is("Launches")) return metrics.get(Metric::launch_linked_share).optional();
  if (is("Roofline")) return metrics.get(Metric::modelled_share).optional();
  return std::nullopt;
}

}  // namespace

json metrics_json(const MetricSet& metrics) {
  json out = json::object();
  for (size_t i = 0; i < kMetrics; i++) {
    const auto metric = static_cast<Metric>(i);
    const MetricInfo& info = metric_info(metric);
    const auto& value = metrics.get(metric);
    json& row = out[std::string(info.id)];
    row["definition"] = fmt::format("{}/{}", info.id, info.version);
    row["unit"] = info.unit;
    if (const auto coverage = metric_coverage(metrics, metric)) row["coverage"] = *coverage;
    if (!value) {
      row["absent"] = value.reason();
    } else if (std::abs(*value) < 9e15 && *value == std::floor(*value) && info.unit != "ratio") {
      row["value"] = static_cast<int64_t>(*value);
    } else {
      row["value"] = *value;
    }
  }
  return out;
}

Result<Measured> measure(const PreparedRun& run, const Sources& sources, const std::string& window) {
  NL_TRY(auto pieces, window_named(window, run.timeline, run.windows));
  return measure(run, sources, std::move(pieces));
}

Measured measure(const PreparedRun& run, const Sources& sources, IntervalSet window) {
  Measured measured;
  measured.window = std::move(window);
  for (const DeviceState& state : run.devices) {
    stop_if_cancelled();
    const json entry = hardware_of(sources.document, state.device);
    MeasuredDevice device{&state, hardware_name(entry), device_metrics(run, state, measured.window)};
    if (state.device.number) {
      const auto it = sources.memory.find(*state.device.number);
      if (it != sources.memory.end()) device.memory = &it->second;
    }
    stop_if_cancelled();
    add_memory(device, measured.window);
    if (!sources.pool.empty())
      device.metrics.set(Metric::parallel_efficiency, parallel_efficiency(sources.pool, measured.window));
    add_roofline(device, run, sources, entry, measured.window);
    measured.devices.push_back(std::move(device));
  }
  return measured;
}

json analysis_json(const PreparedRun& run, const Measured& measured, const Taxonomy& taxonomy,
                   const AnalysisOptions& options) {
  json out = json::object();
  json pieces = json::array();
  const size_t most = options.with_figures ? measured.window.size() : kStepsShown;
  for (size_t i = 0; i < std::min(measured.window.size(), most); i++)
    pieces.push_back({measured.window[i].begin, measured.window[i].end});
  out["window"] = {{"name", options.window},
                   {"total_ns", total_length(measured.window)},
                   {"pieces", measured.window.size()},
                   {"intervals", pieces}};
  out["limiters"] = limiters_json(measured);
  json devices = json::array();
  for (const MeasuredDevice& device : measured.devices) {
    stop_if_cancelled();
    devices.push_back(device_json(device, run.timeline, measured.window, options));
  }
  out["devices"] = devices;
  out["steps"] = steps_json(run, measured);
  stop_if_cancelled();
  out["coverage"] = coverage_json(run, measured);
  Tables(run, measured, taxonomy, options.top).add(out);
  return out;
}

}  // namespace nl::analyze
