#include "ingest/formats/recording/recording_gpu.h"

#include <algorithm>

#include "base/demangle.h"
#include "ingest/active_devices.h"

namespace nl::ingest {
namespace {

using model::kNull;
using model::TableId;
using wire::RecordKind;
namespace copies = model::copies;
namespace kernels = model::kernels;
namespace spans = model::spans;
namespace syncs = model::syncs;

constexpr int64_t kSlackNs = 1'000'000'000;  ///< around the session
constexpr size_t kMaxDevices = 1024;
constexpr size_t kMaxThreads = 1 << 20;
constexpr size_t kMaxContexts = 64 << 10;
constexpr int64_t kRuntimeSpan = 1, kOverheadSpan = 6;
static_assert(model::kSpanKinds[kRuntimeSpan] == "runtime" && model::kSpanKinds[kOverheadSpan] == "overhead");

int64_t none_as_minus_one(uint32_t id) {
  return id == UINT32_MAX ? -1 : int64_t{id};
}

std::string memory_kind(uint8_t kind) {
  static constexpr const char* kNames[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                           "Array",   "Managed",  "Device Static", "Managed Static"};
  return kind < std::size(kNames) ? kNames[kind] : "Unknown";
}

std::string copy_name(const wire::CopyRecord& copy) {
  static constexpr const char* kNames[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                           "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
  if (copy.is_set != 0) return "Memset (" + memory_kind(copy.from_kind) + ")";
  const bool is_known = copy.copy_kind < std::size(kNames);
  return std::string("Memcpy ") + (is_known ? kNames[copy.copy_kind] : "Unknown") + " (" +
         memory_kind(copy.from_kind) + " -> " + memory_kind(copy.to_kind) + ")";
}

const char* sync_name(uint32_t type) {
  static constexpr const char* kNames[] = {"Unknown Sync", "Event Sync", "Stream Wait Event", "Stream Sync",
                                           "Context Sync"};
  return type < std::size(kNames) ? kNames[type] : kNames[0];
}

const char* overhead_name(uint32_t kind) {
  static constexpr const char* kNames[] = {"Unknown",
                                           "Buffer Flush",
                                           "Instrumentation",
                                           "Resource",
                                           "Runtime Triggered Module Loading",
                                           "Lazy Function Loading",
                                           "Command Buffer Full",
                                           "Activity Buffer Request",
                                           "UVM Activity Init"};
  if (kind == 1) return "Driver Compiler";
  return kind % 65536 == 0 && kind / 65536 < std::size(kNames) ? kNames[kind / 65536] : kNames[0];
}

}  // namespace

// ---- What becomes of a record

template <class Record>
bool GpuRecords::read(const wire::Word* words, size_t count, Record& record) const {
  if (count != wire::words_in<Record>()) return false;
  std::memcpy(&record, words, sizeof record);
  return true;
}

void GpuRecords::take(const wire::Word* record, size_t words, const std::string& name) {
  args_.clear();
  const char* const fault = take_any(record, words, name);
  if (wire::kind_of(record[0]) == static_cast<uint8_t>(RecordKind::kGpuClock)) return;
  info_.counts.seen++;
  if (fault != nullptr) info_.counts.dropped[fault]++;
}

/// nullptr, or why it is dropped.
const char* GpuRecords::take_any(const wire::Word* words, size_t count, const std::string& name) {
  const auto with = [&](auto record, auto take) -> const char* {
    return read(words, count, record) ? take(record) : "bad_record";
  };
  switch (static_cast<RecordKind>(wire::kind_of(words[0]))) {
    case RecordKind::kKernel:
      return with(wire::KernelRecord{}, [&](const auto& record) { return take_kernel(record, name); });
    case RecordKind::kCopy:
      return with(wire::CopyRecord{}, [&](const auto& record) { return take_copy(record); });
    case RecordKind::kSync:
      return with(wire::SyncRecord{}, [&](const auto& record) { return take_sync(record); });
    case RecordKind::kCall:
      return with(wire::CallRecord{}, [&](const auto& record) { return take_call(record, name); });
    case RecordKind::kOverhead:
      return with(wire::OverheadRecord{}, [&](const auto& record) { return take_overhead(record); });
    case RecordKind::kDevice:
      return with(wire::DeviceRecord{}, [&](const auto& record) { return take_device(record, name); });
    case RecordKind::kGpuClock:
      return with(wire::GpuClockRecord{}, [&](const auto& record) { return take_clock(record); });
    default:
      return "unsupported_kind";
  }
}

void GpuRecords::store(const char* phase) {
  info_.counts.stored++;
  info_.records_by_phase[phase]++;
}

// ---- Times

const char* GpuRecords::take_clock(const wire::GpuClockRecord& record) {
  constexpr uint64_t kMax = 4'000'000'000'000'000'000;
  if (record.monotonic_ns > kMax || record.cupti_ns > kMax || record.bound_ns > kMax) {
    info_.health["bad_gpu_clock"]++;
    return nullptr;
  }
  const bool is_ours = record.is_ours != 0;
  const int64_t offset =
      is_ours ? 0 : static_cast<int64_t>(record.cupti_ns) - static_cast<int64_t>(record.monotonic_ns);
  const int64_t moved = clock_->is_known ? std::abs(offset - clock_->offset_ns) : 0;
  clock_bound_ns_ = std::max(clock_bound_ns_, static_cast<int64_t>(record.bound_ns) + moved);
  clock_->is_known = true;
  clock_->offset_ns = offset;
  clock_->seen_ns = std::max(clock_->seen_ns, static_cast<int64_t>(record.monotonic_ns));
  is_clock_ours_ = is_clock_ours_ && is_ours;
  return nullptr;
}

/// kNull for what no clock shows.
int64_t GpuRecords::monotonic(uint64_t time) const {
  constexpr uint64_t kMax = 8'000'000'000'000'000'000;
  return time > kMax ? kNull : static_cast<int64_t>(time) - clock_->offset_ns;
}

bool GpuRecords::is_in_session(int64_t time) const {
  return time != kNull && time >= started_ns_ - kSlackNs && time <= clock_->seen_ns + kSlackNs;
}

template <class Number>
void GpuRecords::arg(const char* key, Number value) {
  args_ += (args_.empty() ? "{\"" : ",\"") + std::string(key) + "\":" + std::to_string(value);
}

GpuRecords::Times GpuRecords::times_of(int64_t start, int64_t end) {
  if (end < start) {
    info_.health["negative_duration"]++;
  } else if (!is_in_session(end)) {
    info_.health["end_out_of_session"]++;
  } else {
    return {start, end - start};
  }
  if (end != kNull) arg("end", end);
  return {start, kNull};
}

/// Work of a device is kept even without a time: 0 is CUPTI's word for none, and one far outside of the
/// session is none.
GpuRecords::Times GpuRecords::device_times(uint64_t start, uint64_t end) {
  if (start == 0 && end == 0) {
    info_.health["device_record_without_time"]++;
    return {};
  }
  if (is_in_session(monotonic(start))) return times_of(monotonic(start), monotonic(end));
  info_.health["time_out_of_session"]++;
  arg("start", start);
  arg("end", end);
  return {};
}

// ---- Work of devices

size_t GpuRecords::begin_row(const Columns& columns, const wire::GpuPlace& place, int64_t device,
                             uint64_t start, uint64_t end) {
  const Times times = device_times(start, end);
  const int64_t stream = none_as_minus_one(place.stream);
  const int64_t context = place.context <= INT32_MAX ? int64_t{place.context} : kNull;
  const size_t row = writer_.add(columns.table);
  const int32_t track = tracks_.stream(process_, device, context, stream);
  if (track >= 0) writer_.set_track(columns.table, row, columns.track, track);
  writer_.set(columns.table, row, columns.device, device);
  writer_.set(columns.table, row, columns.stream, stream);
  writer_.set(columns.table, row, columns.context, context);
  writer_.set(columns.table, row, columns.start, times.start);
  writer_.set(columns.table, row, columns.duration, times.duration);
  if (place.correlation != 0)
    writer_.set(columns.table, row, columns.correlation, int64_t{place.correlation});
  else
    info_.health["device_record_without_call"]++;
  if (device != kNull) active_devices_.insert(device);
  return row;
}

void GpuRecords::set_args(TableId table, size_t row, int column) {
  if (!args_.empty()) writer_.set_text(table, row, column, args_ + "}");
}

const GpuRecords::KernelName& GpuRecords::known(const std::string& name) {
  KernelName& known = names_[name];
  if (known.shown.empty()) {
    known.shown = is_mangled(name) ? demangle(name).value_or(name) : name;
    if (known.shown.empty()) known.shown = "(no name)";
  }
  if (known.generation != writer_.generation()) {
    known.generation = writer_.generation();
    known.shown_number = writer_.text(known.shown);
    known.mangled_number = known.shown == name ? kNull : writer_.text(name);
  }
  return known;
}

const char* GpuRecords::take_kernel(const wire::KernelRecord& record, const std::string& name) {
  static constexpr Columns kColumns{TableId::kernels, kernels::track_id,      kernels::device,
                                    kernels::stream,  kernels::context_id,    kernels::start_ns,
                                    kernels::dur_ns,  kernels::correlation_id};
  if (!tracks_.has_room()) return "too_many_threads";
  constexpr auto kTable = TableId::kernels;
  const int64_t device = record.place.device <= INT32_MAX ? int64_t{record.place.device} : kNull;
  if (device != kNull && device_of_context_.size() < kMaxContexts)
    device_of_context_[{process_, record.place.context}] = device;
  const size_t row = begin_row(kColumns, record.place, device, record.start_ns, record.end_ns);
  const KernelName& texts = known(name);
  writer_.set(kTable, row, kernels::name, texts.shown_number);
  writer_.set(kTable, row, kernels::mangled_name, texts.mangled_number);
  writer_.set(kTable, row, kernels::registers_per_thread, int64_t{record.registers});
  writer_.set(kTable, row, kernels::shared_memory_bytes,
              int64_t{record.static_shared_bytes} + record.dynamic_shared_bytes);
  for (int i = 0; i < 3; i++) {
    if (record.grid[i] <= INT32_MAX) writer_.set(kTable, row, kernels::grid_x + i, int64_t{record.grid[i]});
    if (record.block[i] <= INT32_MAX)
      writer_.set(kTable, row, kernels::block_x + i, int64_t{record.block[i]});
  }
  if (record.graph_node != 0) {
    writer_.set(kTable, row, kernels::graph_node_id, static_cast<int64_t>(record.graph_node));
    writer_.set(kTable, row, kernels::graph_id, int64_t{record.graph});
  }
  if (record.launch_type > 0) arg("launchType", record.launch_type);
  set_args(kTable, row, kernels::args);
  store("kernel");
  return nullptr;
}

const char* GpuRecords::take_copy(const wire::CopyRecord& record) {
  static constexpr Columns kColumns{TableId::copies, copies::track_id,      copies::device,
                                    copies::stream,  copies::context_id,    copies::start_ns,
                                    copies::dur_ns,  copies::correlation_id};
  if (!tracks_.has_room()) return "too_many_threads";
  constexpr auto kTable = TableId::copies;
  const int64_t device = record.place.device <= INT32_MAX ? int64_t{record.place.device} : kNull;
  const size_t row = begin_row(kColumns, record.place, device, record.start_ns, record.end_ns);
  writer_.set_text(kTable, row, copies::name, copy_name(record));
  writer_.set_text(kTable, row, copies::kind, record.is_set != 0 ? "memset" : "memcpy");
  if (record.bytes <= INT64_MAX) writer_.set(kTable, row, copies::bytes, static_cast<int64_t>(record.bytes));
  if (record.is_set != 0) arg("value", record.value);
  if (record.is_between_devices != 0) {
    arg("srcDeviceId", record.from_device);
    arg("dstDeviceId", record.to_device);
  }
  if (record.graph_node != 0) arg("graphNodeId", record.graph_node);
  set_args(kTable, row, copies::args);
  store(record.is_set != 0 ? "memset" : "memcpy");
  return nullptr;
}

const char* GpuRecords::take_sync(const wire::SyncRecord& record) {
  static constexpr Columns kColumns{TableId::syncs,    syncs::track_id, syncs::device, syncs::stream,
                                    syncs::context_id, syncs::start_ns, syncs::dur_ns, syncs::correlation_id};
  if (!tracks_.has_room()) return "too_many_threads";
  // The record names its context alone.
  const auto device = device_of_context_.find({process_, record.context});
  const size_t row =
      begin_row(kColumns, {0, record.context, record.stream, record.correlation},
                device != device_of_context_.end() ? device->second : kNull, record.start_ns, record.end_ns);
  writer_.set_text(TableId::syncs, row, syncs::name, sync_name(record.type));
  writer_.set_text(TableId::syncs, row, syncs::kind, sync_name(record.type));
  writer_.set(TableId::syncs, row, syncs::wait_on_event_id, none_as_minus_one(record.event));
  set_args(TableId::syncs, row, syncs::args);
  store("sync");
  return nullptr;
}

const char* GpuRecords::take_device(const wire::DeviceRecord& record, const std::string& name) {
  if (record.device > INT32_MAX) return "bad_record";
  info_.counts.folded["device"]++;
  const auto number = static_cast<int32_t>(record.device);
  const bool is_known = std::any_of(info_.devices.begin(), info_.devices.end(),
                                    [&](const model::Device& device) { return device.device == number; });
  if (is_known || info_.devices.size() >= kMaxDevices) return nullptr;
  model::Device device;
  device.device = number;
  device.name = repaired_utf8(name);
  device.vendor = "NVIDIA";
  if (record.memory_bytes > 0 && record.memory_bytes <= INT64_MAX)
    device.memory_bytes = static_cast<int64_t>(record.memory_bytes);
  if (record.multiprocessors > 0) device.multiprocessors = int64_t{record.multiprocessors};
  if (record.compute_major > 0)
    device.compute_capability =
        std::to_string(record.compute_major) + "." + std::to_string(record.compute_minor);
  info_.devices.push_back(std::move(device));
  return nullptr;
}

// ---- Of the host

size_t GpuRecords::begin_span(int64_t thread_id, int64_t kind, const char* category, const Times& times) {
  constexpr auto kTable = TableId::spans;
  const size_t row = writer_.add(kTable);
  const int32_t track = tracks_.thread(process_, thread_id);
  if (track >= 0) writer_.set_track(kTable, row, spans::track_id, track);
  writer_.set_text(kTable, row, spans::category, category);
  writer_.set(kTable, row, spans::kind, kind);
  writer_.set(kTable, row, spans::start_ns, times.start);
  writer_.set(kTable, row, spans::dur_ns, times.duration);
  return row;
}

const char* GpuRecords::take_call(const wire::CallRecord& record, const std::string& name) {
  if (!tracks_.has_room()) return "too_many_threads";
  const int64_t start = monotonic(record.start_ns);
  if (!is_in_session(start)) return "time_out_of_session";
  const Times times = times_of(start, monotonic(record.end_ns));
  const size_t row = begin_span(record.thread_id, kRuntimeSpan,
                                record.is_driver != 0 ? "cuda_driver" : "cuda_runtime", times);
  writer_.set(TableId::spans, row, spans::name, known(name).shown_number);
  if (record.correlation != 0)
    writer_.set(TableId::spans, row, spans::correlation_id, int64_t{record.correlation});
  if (record.return_value != 0) arg("returnValue", record.return_value);
  set_args(TableId::spans, row, spans::args);
  watch_correlation(record, times);
  store("call");
  return nullptr;
}

/// Numbers of calls only grow: a later call of a thread with a smaller one means that they are used again,
/// and that device work may be joined to an earlier call.
void GpuRecords::watch_correlation(const wire::CallRecord& call, const Times& times) {
  if (times.duration == kNull || last_calls_.size() >= kMaxThreads) return;
  LastCall& last = last_calls_[{process_, call.thread_id}];
  if (times.start >= last.end_ns && call.correlation <= last.correlation)
    info_.health["correlation_reused"]++;
  if (times.start >= last.end_ns) last.correlation = call.correlation;
  last.end_ns = std::max(last.end_ns, times.start + times.duration);
}

const char* GpuRecords::take_overhead(const wire::OverheadRecord& record) {
  if (!tracks_.has_room()) return "too_many_threads";
  const int64_t start = monotonic(record.start_ns);
  if (!is_in_session(start)) return "time_out_of_session";
  const int64_t thread = record.thread_id == 0 ? kNull : int64_t{record.thread_id};
  const size_t row =
      begin_span(thread, kOverheadSpan, "cupti_overhead", times_of(start, monotonic(record.end_ns)));
  writer_.set_text(TableId::spans, row, spans::name, overhead_name(record.kind));
  arg("overheadType", record.kind);
  set_args(TableId::spans, row, spans::args);
  store("overhead");
  return nullptr;
}

// ---- The end

void GpuRecords::finish() {
  mark_active_devices(active_devices_, kMaxDevices, info_);
  if (!active_devices_.empty()) info_.backend = "cuda";
  const bool has_clock =
      std::any_of(clocks_.begin(), clocks_.end(), [](const auto& clock) { return clock.second.is_known; });
  if (!has_clock) return;
  info_.extensions["recording"]["gpu_clock"] = {{"bound_ns", clock_bound_ns_},
                                                {"method", is_clock_ours_ ? "callback" : "pairs"}};
}

}  // namespace nl::ingest
