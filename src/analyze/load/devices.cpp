#include "analyze/load/devices.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace nl::analyze {
namespace {

using Key = std::pair<int64_t, int64_t>;  // rank and number; kUnknown sorts first

constexpr int64_t kUnknown = INT64_MIN;

Track track_of(const Timeline& run, int32_t track) {
  const bool known = track >= 0 && static_cast<size_t>(track) < run.tracks.size();
  return known ? run.tracks[static_cast<size_t>(track)] : Track{};
}

class DeviceBuilder {
 public:
  explicit DeviceBuilder(const Timeline& run) : run_(run) {}

  Device& at(int32_t track_id, int32_t number) {
    if (last_ != nullptr && track_id == last_track_ && number == last_number_) return *last_;
    const Track track = track_of(run_, track_id);
    const int64_t device = number != kNoDevice ? number : track.device ? *track.device : kUnknown;
    const Key key{track.rank ? *track.rank : kUnknown, device};
    const auto [it, added] = devices_.try_emplace(key);
    if (added) {
      if (key.first != kUnknown) it->second.rank = static_cast<int32_t>(key.first);
      if (key.second != kUnknown) it->second.number = static_cast<int32_t>(key.second);
    }
    last_ = &it->second;
    last_track_ = track_id;
    last_number_ = number;
    return *last_;
  }

  void add(int32_t device, const Work& work) {
    Device& to = at(work.track, device);
    if (work.end < work.start) {
      to.untimed++;
    } else {
      to.work.push_back(work);
    }
  }

  std::vector<Device> take() {
    std::vector<Device> devices;
    for (auto& [key, device] : devices_) devices.push_back(std::move(device));
    return devices;
  }

 private:
  const Timeline& run_;
  std::map<Key, Device> devices_;
  Device* last_ = nullptr;
  int32_t last_track_ = -1, last_number_ = 0;
};

WorkKind kind_of_kernel(OpClass op_class) {
  return op_class == OpClass::k_communication ? WorkKind::kCommunication : WorkKind::kCompute;
}

void add_rows(DeviceBuilder& builder, const DeviceRows& rows, WorkTable table, const NameClasses& classes) {
  for (size_t i = 0; i < rows.size(); i++) {
    const WorkKind kind =
        table == WorkTable::kCopies ? WorkKind::kCopy : kind_of_kernel(classes.kernel[rows.name[i]]);
    builder.add(rows.device[i], {rows.start[i], rows.end[i], static_cast<uint32_t>(i), rows.name[i],
                                 rows.launch[i], rows.op[i], rows.track[i], kind, table});
  }
}

/// Records of a stream that wait or mark, and do no work.
bool is_event(std::string_view name) {
  return name == "event_wait" || name == "event_record";
}

/// Work that a source shows as spans of a device, without kernels. Only the outermost of nested ones.
void add_device_spans(DeviceBuilder& builder, const Timeline& run, const NameClasses& classes) {
  const Spans& spans = run.spans;
  for (size_t i = 0; i < spans.size(); i++) {
    if (spans.kind[i] != model::SpanKind::device || is_event(run.names[spans.name[i]])) continue;
    const uint32_t parent = spans.parent[i];
    if (parent != kNoRow && spans.kind[parent] == model::SpanKind::device) continue;
    const OpClass op_class = classes.kernel[spans.name[i]];
    const WorkKind kind = op_class == OpClass::k_memory ? WorkKind::kCopy : kind_of_kernel(op_class);
    builder.add(kNoDevice, {spans.start[i], spans.end[i], static_cast<uint32_t>(i), spans.name[i], kNoRow,
                            kNoRow, spans.track[i], kind, WorkTable::kSpans});
  }
}

bool is_outermost_op(const Spans& spans, size_t span) {
  const uint32_t parent = spans.parent[span];
  return spans.kind[span] == model::SpanKind::op && (parent == kNoRow || spans.op[parent] == kNoRow);
}

/// The host of a run without device work.
void add_host(DeviceBuilder& builder, const Timeline& run, const NameClasses& classes) {
  const Spans& spans = run.spans;
  for (size_t i = 0; i < spans.size(); i++) {
    if (!is_outermost_op(spans, i)) continue;
    const auto row = static_cast<uint32_t>(i);
    builder.add(kNoDevice, {spans.start[i], spans.end[i], row, spans.name[i], kNoRow, row, spans.track[i],
                            kind_of_kernel(classes.op[spans.name[i]]), WorkTable::kSpans});
  }
}

bool comes_before(const Work& a, const Work& b) {
  return std::tie(a.start, a.end, a.table, a.row) < std::tie(b.start, b.end, b.table, b.row);
}

IntervalSet union_of_kind(const PagedVector<Work>& work, WorkKind kind) {
  PagedVector<Interval> intervals;
  for (const Work& w : work) {
    if (w.kind == kind) intervals.push_back({w.start, w.end});
  }
  return union_of(std::move(intervals));
}

void finish(Device& device) {
  auto& work = device.work;
  device.has_records =
      std::any_of(work.begin(), work.end(), [](const Work& w) { return w.table != WorkTable::kSpans; });
  if (!std::is_sorted(work.begin(), work.end(), comes_before))
    std::sort(work.begin(), work.end(), comes_before);
  device.compute = union_of_kind(work, WorkKind::kCompute);
  device.communication = union_of_kind(work, WorkKind::kCommunication);
  device.copy = union_of_kind(work, WorkKind::kCopy);
  device.kernels = unite(device.compute, device.communication);
  device.busy = unite(device.kernels, device.copy);
}

int64_t work_ns(const Device& device) {
  int64_t sum = 0;
  for (const Work& work : device.work) sum += work.end - work.start;
  return sum;
}

/// The devices stay in their order; of equally busy ones the first are kept.
DevicesLeftOut keep_busiest(std::vector<Device>& devices) {
  DevicesLeftOut left_out;
  if (devices.size() <= kMostDevices) return left_out;
  std::vector<std::pair<int64_t, size_t>> by_work;
  for (size_t i = 0; i < devices.size(); i++) by_work.emplace_back(-work_ns(devices[i]), i);
  std::sort(by_work.begin(), by_work.end());
  std::vector<bool> kept(devices.size());
  for (size_t i = 0; i < kMostDevices; i++) kept[by_work[i].second] = true;
  std::vector<Device> busiest;
  for (size_t i = 0; i < devices.size(); i++) {
    if (kept[i]) {
      busiest.push_back(std::move(devices[i]));
    } else {
      left_out.devices++;
      left_out.rows += static_cast<int64_t>(devices[i].work.size()) + devices[i].untimed;
    }
  }
  devices = std::move(busiest);
  return left_out;
}

}  // namespace

std::vector<Device> devices_of(const Timeline& run, const NameClasses& classes, DevicesLeftOut* left_out) {
  DeviceBuilder builder(run);
  add_rows(builder, run.kernels, WorkTable::kKernels, classes);
  add_rows(builder, run.copies, WorkTable::kCopies, classes);
  add_device_spans(builder, run, classes);
  std::vector<Device> devices = builder.take();
  if (devices.empty()) {
    DeviceBuilder hosts(run);
    add_host(hosts, run, classes);
    devices = hosts.take();
    for (Device& device : devices) device.is_host = true;
  }
  const DevicesLeftOut rest = keep_busiest(devices);
  if (left_out != nullptr) *left_out = rest;
  for (Device& device : devices) finish(device);
  return devices;
}

Decomposition decompose(const Device& device, const IntervalSet& window) {
  const IntervalSet compute = intersect(device.compute, window);
  const IntervalSet communication = intersect(device.communication, window);
  const IntervalSet copy = intersect(device.copy, window);
  Decomposition sum;
  sum.window_ns = total_length(window);
  sum.compute_ns = total_length(compute);
  sum.comm_ns = total_length(communication);
  sum.copy_ns = total_length(copy);
  sum.overlap_ns = total_length(intersect(compute, communication));
  sum.exposed_comm_ns = total_length(subtract(communication, compute));
  sum.exposed_copy_ns = total_length(subtract(copy, unite(compute, communication)));
  sum.kernels_ns = total_length(intersect(device.kernels, window));
  sum.busy_ns = total_length(intersect(device.busy, window));
  sum.idle_ns = total_length(subtract(window, device.busy));
  return sum;
}

}  // namespace nl::analyze
