#include "cupti/activity.h"

#include <string.h>

#include "collect/markers.h"

namespace nl::cupti {
namespace {

using wire::Loss;
using wire::RecordKind;

constexpr int64_t kWaitNs = 100'000'000;  ///< for room in the ring; CUPTI's own thread waits, as a rule

template <class Record>
wire::Word head(RecordKind kind, uint32_t name = 0) {
  return wire::record_head(kind, wire::words_in<Record>(), name);
}

/// A record may be larger than what is read of it, and lies where CUPTI put it.
template <class Activity>
Activity read(const void* record) {
  Activity activity;
  memcpy(&activity, record, sizeof activity);
  return activity;
}

/// What copies and sets share.
template <class Activity>
wire::CopyRecord moved_of(const Activity& activity) {
  wire::CopyRecord record{};
  record.head = head<wire::CopyRecord>(RecordKind::kCopy);
  record.start_ns = activity.start;
  record.end_ns = activity.end;
  record.place = {activity.device, activity.context, activity.stream, activity.correlation};
  record.bytes = activity.bytes;
  record.graph_node = activity.graph_node;
  record.graph = activity.graph;
  return record;
}

template <class Activity>
wire::CopyRecord copy_of(const Activity& activity) {
  wire::CopyRecord record = moved_of(activity);
  record.copy_kind = activity.copy_kind;
  record.from_kind = activity.from_kind;
  record.to_kind = activity.to_kind;
  return record;
}

}  // namespace

template <class Record>
bool ActivityWriter::put(const Record& record) {
  wire::Word words[wire::words_in<Record>()];
  memcpy(words, &record, sizeof record);
  return collect::put_record(*ring_, words, wire::words_in<Record>(), kWaitNs);
}

template <class Record>
void ActivityWriter::put_or_lose(const Record& record) {
  if (!put(record)) lose(Loss::kRingFull, 1);
}

void ActivityWriter::lose(Loss reason, uint64_t records) {
  ring_->writer.lose(reason, records);
}

// ---- Buffers

void ActivityWriter::write_clock() {
  wire::GpuClockRecord best{head<wire::GpuClockRecord>(RecordKind::kGpuClock), 0, 0, ~0ull, is_clock_ours_};
  for (int i = 0; i < 8; i++) {
    uint64_t cupti_ns = 0;
    const auto before = static_cast<uint64_t>(wire::clock_ns(CLOCK_MONOTONIC));
    if (functions_->cuptiGetTimestamp(&cupti_ns) != kSuccess) return;
    const auto after = static_cast<uint64_t>(wire::clock_ns(CLOCK_MONOTONIC));
    const uint64_t bound = (after - before + 1) / 2;
    if (bound >= best.bound_ns) continue;
    best.monotonic_ns = before + (after - before) / 2;
    best.cupti_ns = cupti_ns;
    best.bound_ns = bound;
  }
  put(best);  // no record of the program: the one before it holds on if there is no room
}

void ActivityWriter::write_buffer(uint8_t* buffer, size_t valid_bytes) {
  void* record = nullptr;
  for (;;) {
    const Status status = functions_->cuptiActivityGetNextRecord(buffer, valid_bytes, &record);
    if (status == kMaxLimitReached) return;
    const auto* const at = static_cast<const uint8_t*>(record);
    const bool is_inside = at >= buffer && at < buffer + valid_bytes;
    if (status != kSuccess || !is_inside) return lose(Loss::kGpuBuffer, 1);
    write(record);
  }
}

void ActivityWriter::write(const void* record) {
  switch (read<Kind>(record)) {
    case Kind::kKernel:
    case Kind::kConcurrentKernel:
      return write_kernel(read<Kernel>(record));
    case Kind::kMemcpy:
      return write_copy(read<Memcpy>(record));
    case Kind::kMemcpyBetweenDevices:
      return write_copy(read<MemcpyBetweenDevices>(record));
    case Kind::kMemset:
      return write_set(read<Memset>(record));
    case Kind::kSynchronization:
      return write_sync(read<Synchronization>(record));
    case Kind::kRuntime:
    case Kind::kDriver:
      return write_call(read<Call>(record));
    case Kind::kOverhead:
      return write_overhead(read<Overhead>(record));
    case Kind::kDevice:
      return write_device(read<Device>(record));
  }
  lose(Loss::kUnsupported, 1);
}

// ---- Work of a device

void ActivityWriter::write_kernel(const Kernel& kernel) {
  const uint32_t name = kernel_name(kernel.name);
  if (name == 0) return lose(Loss::kNamesFull, 1);
  wire::KernelRecord record{};
  record.head = head<wire::KernelRecord>(RecordKind::kKernel, name);
  record.start_ns = kernel.start;
  record.end_ns = kernel.end;
  record.place = {kernel.device, kernel.context, kernel.stream, kernel.correlation};
  for (int i = 0; i < 3; i++) {
    record.grid[i] = kernel.grid[i];
    record.block[i] = kernel.block[i];
  }
  record.static_shared_bytes = kernel.static_shared_memory;
  record.dynamic_shared_bytes = kernel.dynamic_shared_memory;
  record.graph_node = kernel.graph_node;
  record.graph = kernel.graph;
  record.registers = kernel.registers;
  record.launch_type = kernel.launch_type;
  put_or_lose(record);
}

void ActivityWriter::write_copy(const Memcpy& copy) {
  put_or_lose(copy_of(copy));
}

void ActivityWriter::write_copy(const MemcpyBetweenDevices& copy) {
  wire::CopyRecord record = copy_of(copy);
  record.is_between_devices = 1;
  record.from_device = copy.from_device;
  record.to_device = copy.to_device;
  put_or_lose(record);
}

void ActivityWriter::write_set(const Memset& set) {
  wire::CopyRecord record = moved_of(set);
  record.from_kind = static_cast<uint8_t>(set.memory_kind);
  record.is_set = 1;
  record.value = set.value;
  put_or_lose(record);
}

void ActivityWriter::write_sync(const Synchronization& sync) {
  put_or_lose(wire::SyncRecord{head<wire::SyncRecord>(RecordKind::kSync), sync.start, sync.end, sync.type,
                               sync.context, sync.stream, sync.correlation, sync.event, 0});
}

void ActivityWriter::write_device(const Device& device) {
  const uint32_t name = kernel_name(device.name);
  if (name == 0) return lose(Loss::kNamesFull, 1);
  put_or_lose(wire::DeviceRecord{head<wire::DeviceRecord>(RecordKind::kDevice, name),
                                 static_cast<uint64_t>(wire::clock_ns(CLOCK_MONOTONIC)),
                                 device.global_memory_size, device.number, device.multiprocessors,
                                 device.compute_major, device.compute_minor});
}

// ---- Of the host

void ActivityWriter::write_call(const Call& call) {
  const bool is_driver = call.kind == Kind::kDriver;
  const uint32_t name = call_name(is_driver ? kDriverDomain : kRuntimeDomain, call.callback);
  if (name == 0) return lose(Loss::kNamesFull, 1);
  put_or_lose(wire::CallRecord{head<wire::CallRecord>(RecordKind::kCall, name), call.start, call.end,
                               call.thread, call.correlation, call.return_value, is_driver});
}

void ActivityWriter::write_overhead(const Overhead& overhead) {
  const uint32_t thread = overhead.object_kind == kThreadObject ? overhead.object[1] : 0;
  put_or_lose(wire::OverheadRecord{head<wire::OverheadRecord>(RecordKind::kOverhead), overhead.start,
                                   overhead.end, overhead.overhead_kind, thread});
}

// ---- Names

uint32_t ActivityWriter::kernel_name(const char* text) {
  if (text == nullptr) text = "";
  KnownName& known = kernel_names_[reinterpret_cast<uintptr_t>(text) / 16 % kNameCache];
  if (known.text == text && known.name != 0) {
    const std::string_view name = collect::name_text(known.name);
    if (strncmp(text, name.data(), name.size()) == 0 && text[name.size()] == '\0') return known.name;
  }
  known.text = text;
  known.name =
      collect::name_number({}, {text, strnlen(text, wire::kMaxKernelNameBytes)}, wire::kMaxKernelNameBytes);
  return known.name;
}

uint32_t ActivityWriter::call_name(uint32_t domain, uint32_t callback) {
  const char* text = nullptr;
  uint32_t* const known = callback < kMaxCallbacks ? &call_names_[domain - 1][callback] : nullptr;
  if (known != nullptr && *known != 0) return *known;
  if (functions_->cuptiGetCallbackName(domain, callback, &text) != kSuccess || text == nullptr)
    text = domain == kDriverDomain ? "(driver call)" : "(runtime call)";
  const uint32_t name = collect::name_number({}, text);
  if (known != nullptr) *known = name;
  return name;
}

}  // namespace nl::cupti
