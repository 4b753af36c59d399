// Reads the record tables of an nsys export (SQLite) into rows. Every record of every table is counted:
// stored, folded into something else, or dropped with a reason. Columns are looked up by name and may be
// missing, since both tables and columns change with the version of nsys. Tables are read in a fixed order,
// so that the same file always gives the same rows.

#include "ingest/formats/nsys/nsys_records.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "base/json.h"
#include "base/small_json.h"
#include "base/text.h"
#include "ingest/source/utf8.h"

namespace nl::ingest {
namespace {

using model::kNull;
using model::SpanKind;
using model::TableId;
namespace spans = model::spans;
namespace kernels = model::kernels;
namespace copies = model::copies;
namespace syncs = model::syncs;
namespace allocations = model::allocations;
namespace counters = model::counters;
namespace samples = model::samples;

// ---- Rows of a table

enum class Expect : uint8_t { kInteger, kReal, kText };

/// A column to read, and the enumerator by which the code refers to it.
struct Field {
  size_t number;
  std::string_view name;
  Expect expect = Expect::kInteger;
};

/// Fails to compile unless each field stands at the index that its enumerator names.
template <size_t n>
consteval std::array<Field, n> in_order(const std::array<Field, n>& fields) {
  for (size_t i = 0; i < n; i++) {
    if (fields[i].number != i) throw "a field does not stand at its number";
  }
  return fields;
}
template <size_t n>
consteval std::array<Field, n> fields_of(const Field (&fields)[n]) {
  return in_order(std::to_array(fields));
}

class Record {
 public:
  Record(SqlitePages& pages, const SqliteTable& table, std::span<const Field> fields)
      : fields_(fields), scan_(pages, table, numbers(table, fields)) {}

  Result<bool> next() { return scan_.next(); }
  /// Why the row cannot be used; nullptr if it can.
  const char* fault() const {
    if (scan_.too_long()) return "record_too_long";
    for (size_t i = 0; i < fields_.size(); i++) {
      if (!fits(scan_[i].kind, fields_[i].expect)) return "bad_value";
    }
    return nullptr;
  }
  /// kNull if the column is missing, NULL or not an integer.
  int64_t operator[](size_t field) const {
    return scan_[field].kind == SqliteKind::kInteger ? scan_[field].integer : kNull;
  }
  bool has(size_t field) const { return scan_[field].kind != SqliteKind::kNull; }
  std::string_view text(size_t field) const { return scan_[field].bytes; }
  double real(size_t field) const {
    const SqliteCell& cell = scan_[field];
    return cell.kind == SqliteKind::kReal ? std::bit_cast<double>(cell.integer)
                                          : static_cast<double>(cell.integer);
  }

 private:
  static std::vector<int> numbers(const SqliteTable& table, std::span<const Field> fields) {
    std::vector<int> columns;
    for (const Field& field : fields) columns.push_back(table.column(field.name));
    return columns;
  }
  static bool fits(SqliteKind kind, Expect expect) {
    if (kind == SqliteKind::kNull) return true;
    if (kind == SqliteKind::kInteger) return expect != Expect::kText;
    return expect == (kind == SqliteKind::kReal ? Expect::kReal : Expect::kText) && kind != SqliteKind::kBlob;
  }

  std::span<const Field> fields_;
  SqliteScan scan_;
};

/// What happened to a record.
struct Outcome {
  enum class Kind : uint8_t { kStored, kFolded, kDropped } kind = Kind::kStored;
  const char* reason = nullptr;
};
Outcome stored() {
  return {};
}
Outcome folded(const char* into) {
  return {Outcome::Kind::kFolded, into};
}
Outcome dropped(const char* reason) {
  return {Outcome::Kind::kDropped, reason};
}

// ---- Tables of other libraries, whose rows become spans with a name and nothing else

constexpr std::string_view kCallTables[] = {"CUBLAS_EVENTS", "CUDNN_EVENTS"};
constexpr std::string_view kCallPrefixes[] = {"MPI_", "OPENACC_", "OPENMP_EVENT_", "UCX_", "NVVIDEO_"};

bool is_call_table(const SqliteTable& table) {
  const bool named = table.column("nameId") >= 0 || table.column("textId") >= 0;
  if (!named || table.column("start") < 0 || table.column("globalTid") < 0) return false;
  for (const std::string_view name : kCallTables) {
    if (table.name == name) return true;
  }
  for (const std::string_view prefix : kCallPrefixes) {
    if (table.name.starts_with(prefix)) return true;
  }
  return false;
}

// ---- Words

std::string memory_kind(int64_t kind) {
  static constexpr const char* kNames[] = {"Pageable", "Pinned",        "Device",         "Array",
                                           "Managed",  "Device Static", "Managed Static", "Unknown"};
  return kind >= 0 && kind < 8 ? kNames[kind] : "Unknown";
}

/// The same text that other users of CUPTI write, so that the rest of the code needs one spelling:
/// Memcpy HtoD (Pageable -> Device).
std::string copy_name(int64_t kind, int64_t from, int64_t to) {
  static constexpr const char* kNames[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD",
                                           "DtoA",    "DtoD", "HtoH", "PtoP", "HtoD", "DtoH", "DtoD"};
  if (kind == kNull) return "Memcpy";
  const bool known = kind >= 0 && kind < 14;
  const std::string name = std::string("Memcpy ") + (known ? kNames[kind] : "Unknown");
  if (kind >= 11 && known) return "Unified Memory " + name;
  if (from == kNull || to == kNull) return name;
  return name + " (" + memory_kind(from) + " -> " + memory_kind(to) + ")";
}

const char* sync_name(int64_t type) {
  static constexpr const char* kNames[] = {"Unknown Sync", "Event Sync", "Stream Wait Event", "Stream Sync",
                                           "Context Sync"};
  return type >= 0 && type < 5 ? kNames[type] : kNames[0];
}

/// A 32-bit id with all bits set means "none".
int64_t none_as_minus_one(int64_t id) {
  return id == UINT32_MAX ? -1 : id;
}

// ---- The reader

enum NvtxType : int64_t {
  kCategoryName = 33,
  kMark = 34,
  kThreadName = 39,
  kPushPopRange = 59,
  kStartEndRange = 60,
  kDomainCreate = 75,
  kDomainDestroy = 76
};

class Reader {
 public:
  Reader(NsysRows& rows, const NsysSession& session, const NsysDeviceNumbers& numbers, NsysFacts& facts)
      : rows_(rows), session_(session), numbers_(numbers), facts_(facts), info_(rows.info()) {}

  Result<void> read() {
    NL_CHECK(read_kernels());
    NL_CHECK(read_copies());
    NL_CHECK(read_sets());
    NL_CHECK(read_syncs());
    NL_CHECK(read_graphs());
    NL_CHECK(read_memory());
    NL_CHECK(read_calls("CUPTI_ACTIVITY_KIND_RUNTIME", SpanKind::runtime, nullptr));
    NL_CHECK(read_calls("CUPTI_ACTIVITY_KIND_DRIVER", SpanKind::runtime, "cuda_driver"));
    NL_CHECK(read_ranges());
    NL_CHECK(read_calls("OSRT_API", SpanKind::other, "osrt"));
    NL_CHECK(read_calls("CUPTI_ACTIVITY_KIND_OVERHEAD", SpanKind::overhead, "cupti_overhead"));
    NL_CHECK(read_calls("PROFILER_OVERHEAD", SpanKind::overhead, "profiler_overhead"));
    NL_CHECK(read_other_calls());
    NL_CHECK(read_switches());
    NL_CHECK(read_samples());
    NL_CHECK(read_metrics());
    NL_CHECK(rows_.flush());
    return count_the_rest();
  }

 private:
  /// Reads every row of a table, if the table exists. `take` gets a valid record and returns what happened to
  /// it.
  template <class Take>
  Result<void> each(const std::string& name, std::span<const Field> fields, Take take) {
    const SqliteTable* const table = rows_.file().table(name);
    done_.push_back(name);
    if (table == nullptr) return {};
    Record record(rows_.file().pages(), *table, fields);
    int64_t seen = 0, kept = 0;
    for (;;) {
      NL_TRY(const bool more, record.next());
      if (!more) break;
      seen++;
      const char* const fault = record.fault();
      const Outcome outcome = fault == nullptr ? take(record) : dropped(fault);
      if (outcome.kind == Outcome::Kind::kStored) {
        kept++;
      } else {
        auto& counts = outcome.kind == Outcome::Kind::kFolded ? info_.counts.folded : info_.counts.dropped;
        counts[outcome.reason]++;
      }
      NL_CHECK(rows_.end_record());
    }
    info_.counts.seen += seen;
    info_.counts.stored += kept;
    if (seen > 0) info_.records_by_category[name] += seen;
    return {};
  }

  // ---- Times

  struct Times {
    int64_t start = kNull;
    int64_t duration = kNull;
  };

  /// A wrong end is counted, and its value is kept in the args of the row.
  Times times_of(int64_t start, int64_t end) {
    Times times{start};
    if (end == kNull) return times;
    if (end < start) {
      info_.health["negative_duration"]++;
    } else if (!session_.holds(end)) {
      info_.health["end_out_of_session"]++;
    } else {
      times.duration = end - start;
      return times;
    }
    args_.add("end", end);
    return times;
  }
  /// Device work is kept even without a usable time, since the kernel did run. CUPTI writes 0 for "no time",
  /// and a time far outside of the session cannot be true.
  Times device_times(int64_t start, int64_t end) {
    if (start == 0 && (end == 0 || end == kNull)) {
      info_.health["device_record_without_time"]++;
      return {};
    }
    if (session_.holds(start)) return times_of(start, end);
    info_.health["time_out_of_session"]++;
    args_.add("start", start);
    args_.add("end", end);
    return {};
  }

  // ---- Tracks

  NsysTrack thread_track(int64_t global_tid) const {
    return {NsysTrack::Kind::kThread, NsysGlobalId::process_of(global_tid),
            global_tid == kNull ? kNull : NsysGlobalId::tid_of(global_tid)};
  }
  int64_t device_number(int64_t process, int64_t device) const {
    if (numbers_.empty()) return device;
    const auto it = numbers_.find({process, device});
    return it == numbers_.end() ? device : it->second;
  }
  NsysTrack stream_track(const Record& r) {
    const int64_t process = NsysGlobalId::process_of(r[kProcess]);
    const int64_t device = device_number(process, r[kDevice]);
    return {NsysTrack::Kind::kStream, process, kNull, device, r[kContext], none_as_minus_one(r[kStream])};
  }
  void saw_device(int64_t device) {
    if (device == last_device_ || device == kNull) return;
    last_device_ = device;
    facts_.devices.insert(device);
  }

  // ---- Tables of device work

  /// The fields that all tables of device work have; the own fields of a table follow.
  enum DeviceField : size_t { kStart, kEnd, kDevice, kContext, kStream, kProcess, kCorrelation, kFirstOwn };

  template <size_t n>
  static consteval std::array<Field, kFirstOwn + n> device_fields(const Field (&own)[n]) {
    std::array<Field, kFirstOwn + n> fields = {{{kStart, "start"},
                                                {kEnd, "end"},
                                                {kDevice, "deviceId"},
                                                {kContext, "contextId"},
                                                {kStream, "streamId"},
                                                {kProcess, "globalPid"},
                                                {kCorrelation, "correlationId"}}};
    std::copy(own, own + n, fields.begin() + kFirstOwn);
    return in_order(fields);
  }

  // ---- Kernels

  Result<void> read_kernels() {
    enum : size_t {
      kName = kFirstOwn,
      kShortName,
      kMangledName,
      kRegisters,
      kGridX,
      kGridY,
      kGridZ,
      kBlockX,
      kBlockY,
      kBlockZ,
      kStaticShared,
      kDynamicShared,
      kGraph,
      kGraphNode,
      kLaunchType,
      kLocalMemory,
      kGreenContext,
      kClusterX,
      kClusterY,
      kClusterZ
    };
    static constexpr auto kFields = device_fields({{kName, "demangledName"},
                                                   {kShortName, "shortName"},
                                                   {kMangledName, "mangledName"},
                                                   {kRegisters, "registersPerThread"},
                                                   {kGridX, "gridX"},
                                                   {kGridY, "gridY"},
                                                   {kGridZ, "gridZ"},
                                                   {kBlockX, "blockX"},
                                                   {kBlockY, "blockY"},
                                                   {kBlockZ, "blockZ"},
                                                   {kStaticShared, "staticSharedMemory"},
                                                   {kDynamicShared, "dynamicSharedMemory"},
                                                   {kGraph, "graphId"},
                                                   {kGraphNode, "graphNodeId"},
                                                   {kLaunchType, "launchType"},
                                                   {kLocalMemory, "localMemoryPerThread"},
                                                   {kGreenContext, "greenContextId"},
                                                   {kClusterX, "clusterX"},
                                                   {kClusterY, "clusterY"},
                                                   {kClusterZ, "clusterZ"}});
    return each("CUPTI_ACTIVITY_KIND_KERNEL", kFields, [this](const Record& r) {
      if (!r.has(kStart)) return dropped("no_time");
      constexpr int64_t kRegular = 1;
      rows_.begin(TableId::kernels);
      args_.clear();
      // The args come first: set_device_columns() adds times to them that cannot be true.
      args_.add_if(r[kLaunchType] > kRegular, "launchType", r[kLaunchType]);
      args_.add_if(r[kLocalMemory] > 0, "localMemoryPerThread", r[kLocalMemory]);
      args_.add_if(r[kGreenContext] > 0, "greenContextId", r[kGreenContext]);
      args_.add_if(r[kClusterX] > 0, "clusterX", r[kClusterX]);
      args_.add_if(r[kClusterX] > 0, "clusterY", r[kClusterY]);
      args_.add_if(r[kClusterX] > 0, "clusterZ", r[kClusterZ]);
      set_device_columns<kernels::track_id, kernels::device, kernels::stream, kernels::context_id,
                         kernels::start_ns, kernels::dur_ns, kernels::correlation_id>(r);
      rows_.set_string(kernels::name, r.has(kName) ? r[kName] : r[kMangledName]);
      if (r[kShortName] != r[kName]) rows_.set_string(kernels::short_name, r[kShortName]);
      if (r[kMangledName] != r[kName]) rows_.set_string(kernels::mangled_name, r[kMangledName]);
      rows_.set32(kernels::registers_per_thread, r[kRegisters]);
      rows_.set(kernels::shared_memory_bytes, sum(r[kStaticShared], r[kDynamicShared]));
      for (int i = 0; i < 3; i++) {
        rows_.set32(kernels::grid_x + i, r[kGridX + static_cast<size_t>(i)]);
        rows_.set32(kernels::block_x + i, r[kBlockX + static_cast<size_t>(i)]);
      }
      rows_.set(kernels::graph_id, r[kGraph]);
      if (r[kGraphNode] != 0) rows_.set(kernels::graph_node_id, r[kGraphNode]);
      rows_.set_args(kernels::args, args_);
      return stored();
    });
  }

  /// Columns that the tables of device work share.
  template <int track, int device, int stream, int context, int start, int duration, int correlation>
  void set_device_columns(const Record& r) {
    const NsysTrack on = stream_track(r);
    const Times times = device_times(r[kStart], r[kEnd]);
    saw_device(on.device);
    rows_.set_track(track, on);
    rows_.set32(device, on.device);
    rows_.set(stream, on.stream);
    rows_.set32(context, r[kContext]);
    rows_.set(start, times.start);
    rows_.set(duration, times.duration);
    rows_.set(correlation, r[kCorrelation]);
  }

  static int64_t sum(int64_t a, int64_t b) {
    if (a == kNull || b == kNull) return a == kNull ? b : a;
    int64_t both = 0;
    return __builtin_add_overflow(a, b, &both) ? kNull : both;
  }

  // ---- Copies

  Result<void> read_copies() {
    enum : size_t {
      kBytes = kFirstOwn,
      kKind,
      kFrom,
      kTo,
      kFromDevice,
      kToDevice,
      kCause,
      kGraphNode,
      kCopies
    };
    static constexpr auto kFields = device_fields({{kBytes, "bytes"},
                                                   {kKind, "copyKind"},
                                                   {kFrom, "srcKind"},
                                                   {kTo, "dstKind"},
                                                   {kFromDevice, "srcDeviceId"},
                                                   {kToDevice, "dstDeviceId"},
                                                   {kCause, "migrationCause"},
                                                   {kGraphNode, "graphNodeId"},
                                                   {kCopies, "copyCount"}});
    return each("CUPTI_ACTIVITY_KIND_MEMCPY", kFields, [this](const Record& r) {
      if (!r.has(kStart)) return dropped("no_time");
      rows_.begin(TableId::copies);
      args_.clear();
      args_.add("srcDeviceId", r[kFromDevice]);
      args_.add("dstDeviceId", r[kToDevice]);
      args_.add("migrationCause", r[kCause]);
      args_.add_if(r[kGraphNode] != 0, "graphNodeId", r[kGraphNode]);
      args_.add_if(r[kCopies] > 1, "copyCount", r[kCopies]);
      set_copy_columns(r);
      rows_.set_text(copies::name, copy_name(r[kKind], r[kFrom], r[kTo]));
      rows_.set_constant(copies::kind, "memcpy");
      rows_.set(copies::bytes, r[kBytes]);
      rows_.set_args(copies::args, args_);
      return stored();
    });
  }

  void set_copy_columns(const Record& r) {
    set_device_columns<copies::track_id, copies::device, copies::stream, copies::context_id, copies::start_ns,
                       copies::dur_ns, copies::correlation_id>(r);
  }

  Result<void> read_sets() {
    enum : size_t { kBytes = kFirstOwn, kMemory, kValue, kGraphNode };
    static constexpr auto kFields = device_fields(
        {{kBytes, "bytes"}, {kMemory, "memKind"}, {kValue, "value"}, {kGraphNode, "graphNodeId"}});
    return each("CUPTI_ACTIVITY_KIND_MEMSET", kFields, [this](const Record& r) {
      if (!r.has(kStart)) return dropped("no_time");
      rows_.begin(TableId::copies);
      args_.clear();
      args_.add("value", r[kValue]);
      args_.add_if(r[kGraphNode] != 0, "graphNodeId", r[kGraphNode]);
      set_copy_columns(r);
      rows_.set_text(copies::name, r.has(kMemory) ? "Memset (" + memory_kind(r[kMemory]) + ")" : "Memset");
      rows_.set_constant(copies::kind, "memset");
      rows_.set(copies::bytes, r[kBytes]);
      rows_.set_args(copies::args, args_);
      return stored();
    });
  }

  // ---- Synchronisation

  Result<void> read_syncs() {
    enum : size_t { kType = kFirstOwn, kOldType, kEvent, kEventSync };
    static constexpr auto kFields = device_fields({{kType, "syncType"},
                                                   {kOldType, "deprecatedSyncType"},
                                                   {kEvent, "eventId"},
                                                   {kEventSync, "eventSyncId"}});
    return each("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", kFields, [this](const Record& r) {
      if (!r.has(kStart)) return dropped("no_time");
      rows_.begin(TableId::syncs);
      args_.clear();
      args_.add("eventSyncId", r[kEventSync]);
      set_device_columns<syncs::track_id, syncs::device, syncs::stream, syncs::context_id, syncs::start_ns,
                         syncs::dur_ns, syncs::correlation_id>(r);
      const char* const name = sync_name(r.has(kType) ? r[kType] : r[kOldType]);
      rows_.set_constant(syncs::name, name);
      rows_.set_constant(syncs::kind, name);
      rows_.set(syncs::wait_on_event_id, none_as_minus_one(r[kEvent]));
      rows_.set_args(syncs::args, args_);
      return stored();
    });
  }

  // ---- CUDA graphs that were traced as a whole, without their kernels

  Result<void> read_graphs() {
    enum : size_t { kGraph = kFirstOwn, kExecutable };
    static constexpr auto kFields = device_fields({{kGraph, "graphId"}, {kExecutable, "graphExecId"}});
    return each("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", kFields, [this](const Record& r) {
      if (!r.has(kStart)) return dropped("no_time");
      args_.clear();
      const Times times = device_times(r[kStart], r[kEnd]);
      if (times.start == kNull) return dropped("no_time");
      const NsysTrack on = stream_track(r);
      saw_device(on.device);
      begin_span(on, SpanKind::device, "cuda_graph", times, r[kCorrelation]);
      rows_.set_text(spans::name, r.has(kGraph) ? "CUDA graph " + std::to_string(r[kGraph]) : "CUDA graph");
      args_.add("graphId", r[kGraph]);
      args_.add("graphExecId", r[kExecutable]);
      rows_.set_args(spans::args, args_);
      info_.health["graph_without_its_kernels"]++;
      return stored();
    });
  }

  // ---- Device memory

  Result<void> read_memory() {
    enum : size_t { kCall = kCorrelation, kAddress = kFirstOwn, kBytes, kMemory, kWhat };
    static constexpr auto kFields = device_fields(
        {{kAddress, "address"}, {kBytes, "bytes"}, {kMemory, "memKind"}, {kWhat, "memoryOperationType"}});
    return each("CUDA_GPU_MEMORY_USAGE_EVENTS", kFields, [this](const Record& r) {
      if (!r.has(kStart)) return dropped("no_time");
      if (!session_.holds(r[kStart])) return dropped("time_out_of_session");
      constexpr int64_t kCuda = 1, kFreed = 1;
      const NsysTrack on = stream_track(r);
      rows_.begin(TableId::allocations);
      args_.clear();
      rows_.set_track(allocations::track_id, on);
      rows_.set(allocations::start_ns, r[kStart]);
      rows_.set(allocations::device_type, kCuda);
      rows_.set32(allocations::device, on.device);
      rows_.set(allocations::address, r[kAddress]);
      if (r.has(kBytes)) rows_.set(allocations::bytes, r[kWhat] == kFreed ? -r[kBytes] : r[kBytes]);
      args_.add("memKind", r[kMemory]);
      args_.add("correlationId", r[kCall]);
      rows_.set_args(allocations::args, args_);
      return stored();
    });
  }

  // ---- Host calls

  void begin_span(const NsysTrack& track, SpanKind kind, const char* category, Times times,
                  int64_t correlation) {
    rows_.begin(TableId::spans);
    rows_.set_track(spans::track_id, track);
    rows_.set(spans::kind, static_cast<int64_t>(kind));
    if (category != nullptr) rows_.set_constant(spans::category, category);
    rows_.set(spans::start_ns, times.start);
    rows_.set(spans::dur_ns, times.duration);
    rows_.set(spans::correlation_id, correlation);
  }

  static const char* api_of(int64_t event_class) {
    constexpr int64_t kRuntime = 0, kDriver = 1;
    return event_class == kRuntime ? "cuda_runtime" : event_class == kDriver ? "cuda_driver" : "cuda_api";
  }

  /// `category` holds for all rows. If it is nullptr, the category is `table_category` or, without that, the
  /// event class of each row.
  Result<void> read_calls(const std::string& table, SpanKind kind, const char* category,
                          const std::string& table_category = {}) {
    enum : size_t { kBegin, kFinish, kClass, kThread, kCall, kName, kText, kResult, kType };
    static constexpr auto kFields = fields_of({{kBegin, "start"},
                                               {kFinish, "end"},
                                               {kClass, "eventClass"},
                                               {kThread, "globalTid"},
                                               {kCall, "correlationId"},
                                               {kName, "nameId"},
                                               {kText, "textId"},
                                               {kResult, "returnValue"},
                                               {kType, "overheadType"}});
    return each(table, kFields, [&, this](const Record& r) {
      if (!r.has(kBegin)) return dropped("no_time");
      if (!session_.holds(r[kBegin])) return dropped("time_out_of_session");
      args_.clear();
      const Times times = times_of(r[kBegin], r[kFinish]);
      const char* const of_row = !table_category.empty() ? nullptr : category ? category : api_of(r[kClass]);
      begin_span(thread_track(r[kThread]), kind, of_row, times, r[kCall]);
      if (!table_category.empty()) rows_.set_text(spans::category, table_category);
      rows_.set_string(spans::name, r.has(kName) ? r[kName] : r[kText]);
      args_.add_if(r[kResult] != 0, "returnValue", r[kResult]);
      args_.add("overheadType", r[kType]);
      rows_.set_args(spans::args, args_);
      return stored();
    });
  }

  Result<void> read_other_calls() {
    for (const auto& [name, table] : rows_.file().tables()) {
      if (!is_call_table(table)) continue;
      NL_CHECK(read_calls(name, SpanKind::other, nullptr, lower(name)));
    }
    return {};
  }

  // ---- NVTX

  enum NvtxField : size_t {
    kNvtxStart,
    kNvtxEnd,
    kNvtxType,
    kNvtxThread,
    kNvtxText,
    kNvtxTextId,
    kNvtxDomain,
    kNvtxCategory,
    kNvtxColor,
    kNvtxUint64,
    kNvtxInt64,
    kNvtxDouble,
    kNvtxUint32,
    kNvtxInt32,
    kNvtxFloat,
    kNvtxJson,
    kNvtxJsonId,
    kNvtxEndThread
  };
  static constexpr auto kNvtxFields = fields_of({{kNvtxStart, "start"},
                                                 {kNvtxEnd, "end"},
                                                 {kNvtxType, "eventType"},
                                                 {kNvtxThread, "globalTid"},
                                                 {kNvtxText, "text", Expect::kText},
                                                 {kNvtxTextId, "textId"},
                                                 {kNvtxDomain, "domainId"},
                                                 {kNvtxCategory, "category"},
                                                 {kNvtxColor, "color"},
                                                 {kNvtxUint64, "uint64Value"},
                                                 {kNvtxInt64, "int64Value"},
                                                 {kNvtxDouble, "doubleValue", Expect::kReal},
                                                 {kNvtxUint32, "uint32Value"},
                                                 {kNvtxInt32, "int32Value"},
                                                 {kNvtxFloat, "floatValue", Expect::kReal},
                                                 {kNvtxJson, "jsonText", Expect::kText},
                                                 {kNvtxJsonId, "jsonTextId"},
                                                 {kNvtxEndThread, "endGlobalTid"}});

  std::string_view nvtx_text(const Record& r) {
    return r.has(kNvtxText) ? r.text(kNvtxText) : rows_.strings().text(r[kNvtxTextId]);
  }

  /// Names of domains and categories. This needs a pass of its own, because a row may use a name before the
  /// row that defines it.
  Result<void> read_nvtx_names(const SqliteTable& table) {
    Record r(rows_.file().pages(), table, kNvtxFields);
    for (;;) {
      NL_TRY(const bool more, r.next());
      if (!more) return {};
      if (r.fault() != nullptr || (r[kNvtxType] != kDomainCreate && r[kNvtxType] != kCategoryName)) continue;
      const int64_t process = NsysGlobalId::process_of(r[kNvtxThread]);
      const int64_t category = r[kNvtxType] == kDomainCreate ? kNull : r[kNvtxCategory];
      const std::string_view text = nvtx_text(r).substr(0, kMaxNvtxName);
      if (nvtx_names_.size() < kMaxNvtxNames) {
        nvtx_names_.try_emplace({process, r[kNvtxDomain], category}, repaired_utf8(text));
      }
    }
  }
  const std::string* nvtx_name(int64_t process, int64_t domain, int64_t category) const {
    const auto it = nvtx_names_.find({process, domain, category});
    return it == nvtx_names_.end() ? nullptr : &it->second;
  }

  Result<void> read_ranges() {
    const SqliteTable* const table = rows_.file().table("NVTX_EVENTS");
    if (table != nullptr) NL_CHECK(read_nvtx_names(*table));
    return each("NVTX_EVENTS", kNvtxFields, [this](const Record& r) {
      switch (r[kNvtxType]) {
        case kPushPopRange:
        case kStartEndRange:
          return take_range(r, SpanKind::annotation);
        case kMark:
          return take_range(r, SpanKind::instant);
        case kDomainCreate:
        case kDomainDestroy:
          return folded("nvtx_domain");
        case kCategoryName:
          return folded("nvtx_category");
        case kThreadName:
          rows_.tracks().name_thread(r[kNvtxThread], repaired_utf8(nvtx_text(r).substr(0, kMaxNvtxName)));
          return folded("nvtx_thread_name");
        default:
          return dropped("nvtx_event_type");
      }
    });
  }

  /// An op that PyTorch writes with emit_nvtx: "aten::mul, seq = 45328, op_id = 990726".
  struct FrameworkOp {
    std::string_view name;
    int64_t id = 0;
  };
  static std::optional<FrameworkOp> framework_op(std::string_view text) {
    constexpr std::string_view kId = ", op_id = ", kSequence = ", seq = ";
    const size_t at = text.find(kId);
    if (at == std::string_view::npos) return std::nullopt;
    FrameworkOp op{text.substr(0, std::min(at, text.find(kSequence)))};
    const char* begin = text.data() + at + kId.size();
    const auto [end, failed] = std::from_chars(begin, text.data() + text.size(), op.id);
    if (op.name.empty() || failed != std::errc()) return std::nullopt;
    return op;
  }

  Outcome take_range(const Record& r, SpanKind kind) {
    if (!r.has(kNvtxStart)) return dropped("no_time");
    if (!session_.holds(r[kNvtxStart])) return dropped("time_out_of_session");
    args_.clear();
    const bool range = kind == SpanKind::annotation;
    const Times times = times_of(r[kNvtxStart], range ? r[kNvtxEnd] : kNull);
    if (range && !r.has(kNvtxEnd)) info_.health["range_without_end"]++;
    const auto op = range ? framework_op(nvtx_text(r)) : std::nullopt;
    begin_span(thread_track(r[kNvtxThread]), op ? SpanKind::op : kind, nullptr, times, kNull);
    if (op) {
      rows_.set_text(spans::name, op->name);
      args_.add("op_id", op->id);
    } else if (r.has(kNvtxText)) {
      rows_.set_text(spans::name, r.text(kNvtxText));
    } else {
      rows_.set_string(spans::name, r[kNvtxTextId]);
    }
    const int64_t process = NsysGlobalId::process_of(r[kNvtxThread]);
    const std::string* const domain = nvtx_name(process, r[kNvtxDomain], kNull);
    if (domain != nullptr) rows_.set_text(spans::category, *domain);
    set_nvtx_args(r);
    return stored();
  }

  void set_nvtx_args(const Record& r) {
    args_.add_if(r[kNvtxCategory] != 0, "category", r[kNvtxCategory]);
    args_.add("color", r[kNvtxColor]);
    args_.add("payload", first({r[kNvtxUint64], r[kNvtxInt64], r[kNvtxUint32], r[kNvtxInt32]}));
    const bool ends_elsewhere = r.has(kNvtxEndThread) && r[kNvtxEndThread] != r[kNvtxThread];
    args_.add_if(ends_elsewhere, "endThread", NsysGlobalId::tid_of(r[kNvtxEndThread]));
    const bool rich = r.has(kNvtxDouble) || r.has(kNvtxFloat) || r.has(kNvtxJson) || r.has(kNvtxJsonId) ||
                      (r.has(kNvtxCategory) && nvtx_category(r) != nullptr);
    if (!rich) return rows_.set_args(spans::args, args_);
    nlohmann::json all = nlohmann::json::parse(args_.json());
    if (const std::string* name = nvtx_category(r)) all["category"] = *name;
    for (const size_t field : {kNvtxDouble, kNvtxFloat}) {
      if (r.has(field)) all["payload"] = r.real(field);
    }
    if (r.has(kNvtxJson) || r.has(kNvtxJsonId)) all["json"] = nvtx_json(r);
    rows_.set_text(spans::args, all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  const std::string* nvtx_category(const Record& r) const {
    return nvtx_name(NsysGlobalId::process_of(r[kNvtxThread]), r[kNvtxDomain], r[kNvtxCategory]);
  }
  nlohmann::json nvtx_json(const Record& r) {
    const std::string_view text = r.has(kNvtxJson) ? r.text(kNvtxJson) : rows_.strings().text(r[kNvtxJsonId]);
    if (text.size() > kMaxSmallJsonBytes) return nullptr;
    auto parsed = parse_small_json(text);
    if (parsed.is_discarded()) return repaired_utf8(text);
    return kept_json(parsed);
  }
  static int64_t first(std::initializer_list<int64_t> values) {
    for (const int64_t value : values) {
      if (value != kNull) return value;
    }
    return kNull;
  }

  // ---- Threads and processors

  Result<void> read_switches() {
    enum : size_t { kTime, kProcessor, kIn, kThread };
    static constexpr auto kFields =
        fields_of({{kTime, "start"}, {kProcessor, "cpu"}, {kIn, "isSchedIn"}, {kThread, "globalTid"}});
    return each("SCHED_EVENTS", kFields, [this](const Record& r) {
      if (!r.has(kTime)) return dropped("no_time");
      if (!session_.holds(r[kTime])) return dropped("time_out_of_session");
      begin_span(thread_track(r[kThread]), SpanKind::instant, "sched", {r[kTime], kNull}, kNull);
      rows_.set_constant(spans::name, r[kIn] != 0 ? "sched_in" : "sched_out");
      args_.clear();
      args_.add("cpu", r[kProcessor]);
      rows_.set_args(spans::args, args_);
      return stored();
    });
  }

  // ---- Samples

  /// Reads the stack of each sample by the id of the sample. The frames of one sample are consecutive rows,
  /// innermost first. Equal stacks are kept once.
  Result<void> read_stacks() {
    enum : size_t { kId, kSymbol, kDepth };
    static constexpr auto kFields = fields_of({{kId, "id"}, {kSymbol, "symbol"}, {kDepth, "stackDepth"}});
    const SqliteTable* const table = rows_.file().table("SAMPLING_CALLCHAINS");
    if (table == nullptr) return {};
    Record r(rows_.file().pages(), *table, kFields);
    std::vector<int64_t> frames;
    int64_t sample = kNull;
    for (;;) {
      NL_TRY(const bool more, r.next());
      if (!more || (r.fault() == nullptr && r[kId] != sample)) {
        if (sample != kNull) keep_stack(sample, frames);
        frames.clear();
        sample = more ? r[kId] : kNull;
      }
      if (!more) break;
      if (r.fault() == nullptr && frames.size() < kMaxFrames) frames.push_back(r[kSymbol]);
    }
    if (rows_.strings().failed()) return *rows_.strings().failed();
    return {};
  }
  void keep_stack(int64_t sample, const std::vector<int64_t>& frames) {
    if (stacks_.size() >= kMaxStacks || frames_kept_ + frames.size() > kMaxFramesKept) return;
    const auto known = stack_numbers_.try_emplace(frames, static_cast<uint32_t>(stack_frames_.size()));
    if (known.second) {
      stack_frames_.push_back(&known.first->first);
      frames_kept_ += frames.size();
    }
    stacks_.try_emplace(sample, known.first->second);
  }
  /// The frames as text, outermost first.
  std::string stack_text(const std::vector<int64_t>& frames) {
    std::string text;
    for (auto it = frames.rbegin(); it != frames.rend() && text.size() < kMaxStackBytes; ++it) {
      const std::string_view symbol = rows_.strings().text(*it);
      if (!text.empty()) text += ';';
      text += symbol.empty() ? "[unknown]" : symbol;
    }
    return text;
  }

  Result<void> read_samples() {
    enum : size_t { kId, kTime, kProcessor, kState, kThread, kCycles };
    static constexpr auto kFields = fields_of({{kId, "id"},
                                               {kTime, "start"},
                                               {kProcessor, "cpu"},
                                               {kState, "threadState"},
                                               {kThread, "globalTid"},
                                               {kCycles, "cpuCycles"}});
    if (rows_.file().table("COMPOSITE_EVENTS") != nullptr) NL_CHECK(read_stacks());
    NL_CHECK(each("COMPOSITE_EVENTS", kFields, [this](const Record& r) {
      if (!r.has(kTime)) return dropped("no_time");
      if (!session_.holds(r[kTime])) return dropped("time_out_of_session");
      rows_.begin(TableId::samples);
      rows_.set_track(samples::track_id, thread_track(r[kThread]));
      rows_.set(samples::start_ns, r[kTime]);
      const auto stack = stacks_.find(r[kId]);
      if (stack == stacks_.end()) {
        info_.health["sample_without_stack"]++;
      } else {
        rows_.set_text(samples::stack, stack_text(*stack_frames_[stack->second]));
      }
      rows_.set(samples::weight, r[kCycles]);
      args_.clear();
      args_.add("cpu", r[kProcessor]);
      args_.add("threadState", r[kState]);
      rows_.set_args(samples::args, args_);
      return stored();
    }));
    stacks_.clear();
    stack_frames_.clear();
    stack_numbers_.clear();
    return {};
  }

  // ---- Counters of devices

  Result<void> read_metric_names() {
    enum : size_t { kType, kMetric, kTypeName, kName };
    static constexpr auto kFields = fields_of({{kType, "typeId"},
                                               {kMetric, "metricId"},
                                               {kTypeName, "typeName", Expect::kText},
                                               {kName, "metricName", Expect::kText}});
    const SqliteTable* const table = rows_.file().table("TARGET_INFO_GPU_METRICS");
    if (table == nullptr) return {};
    Record r(rows_.file().pages(), *table, kFields);
    for (;;) {
      NL_TRY(const bool more, r.next());
      if (!more) return {};
      if (r.fault() != nullptr || metric_names_.size() >= kMaxNvtxNames) continue;
      metric_names_.try_emplace({r[kType], r[kMetric]}, repaired_utf8(r.text(kName).substr(0, kMaxNvtxName)));
      rows_.tracks().name_other(r[kType], repaired_utf8(r.text(kTypeName).substr(0, kMaxNvtxName)));
    }
  }
  /// nsys writes the unit after the name: SM Active [Throughput %].
  static const char* metric_unit(std::string_view name) {
    return has_part(name, "%") ? "%" : has_part(name, "[MHz]") ? "MHz" : nullptr;
  }

  Result<void> read_metrics() {
    enum : size_t { kTime, kType, kMetric, kValue };
    static constexpr auto kFields = fields_of(
        {{kTime, "timestamp"}, {kType, "typeId"}, {kMetric, "metricId"}, {kValue, "value", Expect::kReal}});
    NL_CHECK(read_metric_names());
    return each("GPU_METRICS", kFields, [this](const Record& r) {
      if (!r.has(kTime)) return dropped("no_time");
      if (!session_.holds(r[kTime])) return dropped("time_out_of_session");
      if (!r.has(kValue)) return dropped("no_value");
      constexpr int64_t kDeviceBits = 0xFF;
      rows_.begin(TableId::counters);
      const int64_t device = r.has(kType) ? r[kType] & kDeviceBits : kNull;
      rows_.set_track(counters::track_id, {NsysTrack::Kind::kOther, NsysGlobalId::kNone, r[kType], device});
      rows_.set(counters::start_ns, r[kTime]);
      rows_.set(counters::value, std::bit_cast<int64_t>(r.real(kValue)));
      const auto name = metric_names_.find({r[kType], r[kMetric]});
      if (name == metric_names_.end()) {
        rows_.set_text(counters::name, "metric " + std::to_string(r[kMetric]));
      } else {
        rows_.set_text(counters::name, name->second);
        if (const char* unit = metric_unit(name->second)) rows_.set_constant(counters::unit, unit);
      }
      return stored();
    });
  }

  // ---- Tables that no code above reads: their rows are counted as dropped, so that nothing is lost silently

  Result<void> count_the_rest() {
    for (const auto& [name, table] : rows_.file().tables()) {
      const bool done = std::find(done_.begin(), done_.end(), name) != done_.end();
      if (done || !is_nsys_record_table(table)) continue;
      SqliteScan scan(rows_.file().pages(), table, {});
      int64_t count = 0;
      for (;;) {
        NL_TRY(const bool more, scan.next());
        if (!more) break;
        count++;
      }
      if (count == 0) continue;
      const std::string known = is_plain_name(name) && ++rest_ <= kMaxRest ? name : "other_tables";
      info_.counts.seen += count;
      info_.counts.dropped["no_table_for_" + known] += count;
      info_.records_by_category[known] += count;
    }
    return {};
  }
  static bool is_plain_name(std::string_view name) {
    return name.size() <= 64 && name.find_first_not_of(
                                    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
                                    "0123456789") == std::string_view::npos;
  }

  // Limits on what is kept in memory, whatever the file contains.
  static constexpr size_t kMaxNvtxName = 4096;
  static constexpr size_t kMaxNvtxNames = 100'000;
  static constexpr size_t kMaxFrames = 1024;
  static constexpr size_t kMaxStackBytes = 64 << 10;
  static constexpr size_t kMaxStacks = 2'000'000;
  static constexpr size_t kMaxFramesKept = 8'000'000;
  static constexpr int kMaxRest = 200;

  NsysRows& rows_;
  const NsysSession session_;
  const NsysDeviceNumbers& numbers_;
  NsysFacts& facts_;
  model::RunInfo& info_;
  NsysArgs args_;
  int64_t last_device_ = kNull;
  std::map<std::tuple<int64_t, int64_t, int64_t>, std::string> nvtx_names_;  // process, domain, category
  std::map<std::pair<int64_t, int64_t>, std::string> metric_names_;
  std::map<std::vector<int64_t>, uint32_t> stack_numbers_;
  std::vector<const std::vector<int64_t>*> stack_frames_;
  size_t frames_kept_ = 0;
  std::map<int64_t, uint32_t> stacks_;  // sample -> stack
  std::vector<std::string> done_;
  int rest_ = 0;
};

}  // namespace

bool is_nsys_record_table(const SqliteTable& table) {
  for (const std::string_view prefix : {"TARGET_INFO_", "ENUM_", "ANALYSIS_", "META_DATA_", "sqlite_"}) {
    if (table.name.starts_with(prefix)) return false;
  }
  if (table.name.starts_with("CUPTI_ACTIVITY_KIND_") || table.name.ends_with("_EVENTS")) return true;
  for (const char* time : {"start", "timestamp", "rawTimestamp"}) {
    if (table.column(time) >= 0) return true;
  }
  return false;
}

Result<void> read_nsys_records(NsysRows& rows, const NsysSession& session, const NsysDeviceNumbers& numbers,
                               NsysFacts& facts) {
  return Reader(rows, session, numbers, facts).read();
}

}  // namespace nl::ingest
