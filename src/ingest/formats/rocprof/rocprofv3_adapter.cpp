// Reads the CSV tables of rocprofv3 (ROCm 6.2 to 7), one table per file, and those of rocpd with the same
// records: kernels, calls of HIP, HSA and RCCL, ROCTx ranges, copies, counters, sums, agents. The files of
// one process share its tracks and correlation ids. Counters are measured in other executions than traces, so
// dispatch ids do not join the two.

#include <limits>
#include <map>
#include <utility>

#include "base/decimal.h"
#include "base/text.h"
#include "ingest/adapter.h"
#include "ingest/formats/rocprof/rocprof_table.h"
#include "ingest/row_loop.h"
#include "ingest/rows/metric_unit.h"
#include "ingest/rows/number_style.h"
#include "ingest/rows/row_writer.h"
#include "ingest/source/csv_reader.h"

namespace nl::ingest::rocprofv3_adapter {
namespace {

using model::kNull;
using model::TableId;
using enum RocprofColumn;
using Kind = PrintedNumber::Kind;
namespace kernels = model::kernels;
namespace copies = model::copies;
namespace spans = model::spans;
namespace tracks = model::tracks;
namespace summaries = model::summaries;
namespace profiled_launches = model::profiled_launches;
namespace kernel_metrics = model::kernel_metrics;

constexpr char kExport[] = "write it with: rocprofv3 --runtime-trace --output-format csv -- COMMAND";
constexpr int64_t kLongestNs = 1'000'000'000'000'000'000;
constexpr size_t kMaxTracks = 1 << 16;
constexpr size_t kMaxLaunches = 1 << 22;
constexpr size_t kMaxDevices = 4096;

bool is_small(int64_t value) {
  return value >= 0 && value <= std::numeric_limits<int32_t>::max();
}

/// The number of "1", "Agent 1", "Agent-1" or "GPU 1".
std::optional<int64_t> agent_number(std::string_view text) {
  const size_t before = text.find_last_not_of("0123456789");
  int64_t number = 0;
  const bool found = parse_int64(text.substr(before == std::string_view::npos ? 0 : before + 1), number);
  return found && is_small(number) ? std::optional(number) : std::nullopt;
}

struct Times {
  int64_t start = kNull;
  int64_t duration = kNull;
};

class Rocprof {
 public:
  Rocprof(CsvReader& reader, const ReadOptions& options, model::RunSink& sink, model::RunInfo& info)
      : reader_(reader),
        role_(options.role),
        tracks_(options.tracks == nullptr ? own_tracks_ : *options.tracks),
        writer_(sink, info),
        info_(info) {}

  Result<void> read_header() {
    NL_TRY(const bool found, reader_.next_row(fields_));
    if (found) table_ = RocprofTable(fields_);
    info_.backend = "rocm";
    info_.tool = "rocprofv3";
    if (table_.kind() == RocprofKind::kNone)
      return Error{ErrorCode::kBadInput, "the file is not a table of rocprofv3", kExport};
    if (table_.kind() == RocprofKind::kForeign)
      return Error{ErrorCode::kUnsupported, "allocations and scratch memory of rocprofv3 are not read",
                   "leave the file out and import the others"};
    return {};
  }

  /// False at the end of the input.
  Result<bool> next() {
    NL_TRY(const bool found, reader_.next_row(fields_));
    if (!found) return false;
    if (fields_.size() == 1 && trimmed(fields_[0]).empty()) return true;
    info_.counts.seen++;
    if (fields_.size() < table_.size()) {
      info_.counts.dropped[reader_.was_ended() ? "short_row" : "cut_off"]++;
      return true;
    }
    if (fields_.size() > table_.size()) info_.health["long_row"]++;
    NL_CHECK(check_process());
    args_.clear();
    NL_CHECK(store_row());
    NL_CHECK(writer_.flush_if_large());
    return true;
  }

  Result<void> finish() {
    const bool has_times = table_.kind() == RocprofKind::kKernels || table_.kind() == RocprofKind::kCalls ||
                           table_.kind() == RocprofKind::kCopies;
    if (has_times) {
      model::Clock clock;
      clock.kind = "relative";
      info_.clocks.push_back(clock);
    }
    return writer_.flush();
  }

 private:
  // ---- Cells

  std::string_view field(RocprofColumn meaning) const {
    const auto column = table_.find(meaning);
    return column ? trimmed(fields_[*column]) : std::string_view();
  }

  std::optional<int64_t> whole(RocprofColumn meaning) const {
    int64_t value = 0;
    return parse_int64(field(meaning), value) ? std::optional(value) : std::nullopt;
  }

  /// Keeps the value in the args of the row, under the name of its column.
  void keep(RocprofColumn meaning) {
    const auto column = table_.find(meaning);
    if (column && !field(meaning).empty()) args_[table_.name(*column)] = std::string(field(meaning));
  }

  void keep_others() {
    for (size_t i = 0; i < table_.size(); i++) {
      if (table_.meaning(i) == kOther && !trimmed(fields_[i]).empty())
        args_[table_.name(i)] = std::string(trimmed(fields_[i]));
    }
  }

  void keep_odd(RocprofColumn meaning) {
    if (field(meaning).empty()) return;
    info_.health["odd_value"]++;
    keep(meaning);
  }

  void set_whole(TableId table, size_t row, int column, RocprofColumn meaning) {
    const auto value = whole(meaning);
    writer_.set(table, row, column, value.value_or(kNull));
    if (!value) keep_odd(meaning);
  }

  void set_small(TableId table, size_t row, int column, RocprofColumn meaning) {
    const auto value = whole(meaning);
    if (value && is_small(*value)) {
      writer_.set(table, row, column, *value);
    } else {
      keep_odd(meaning);
    }
  }

  /// Correlation ids begin with 1; the profiler writes 0 for none.
  int64_t correlation() {
    const auto id = whole(kCorrelation);
    if (!id) keep_odd(kCorrelation);
    return id && *id != 0 ? *id : kNull;
  }

  /// Start and duration; nothing if one of the times is missing or impossible. A wrong end is kept in the
  /// args.
  std::optional<Times> times(bool of_device) {
    const auto start = whole(kStart), end = whole(kEnd);
    if (!start || !end || *start < 0 || *start > kLongestNs || *end > kLongestNs) return std::nullopt;
    if (*start == 0) {
      if (!of_device) return std::nullopt;
      info_.health["device_record_without_time"]++;
      if (*end != 0) keep(kEnd);
      return Times{};
    }
    if (*end >= *start) return Times{*start, *end - *start};
    info_.health["negative_duration"]++;
    keep(kEnd);
    return Times{*start, kNull};
  }

  // ---- Rows

  /// Refuses a file with several processes: their ids cannot be told apart.
  Result<void> check_process() {
    const std::string_view guid = field(kGuid);
    if (guid.empty() || guid == guid_) return {};
    if (guid_.empty()) {
      guid_ = guid;
      return {};
    }
    return Error{ErrorCode::kUnsupported,
                 "the file holds several processes: line " + std::to_string(reader_.line()),
                 "convert the database of each process separately: rocpd convert -i ONE.db -f csv"};
  }

  Result<void> store_row() {
    switch (table_.kind()) {
      case RocprofKind::kKernels:
        return store_kernel();
      case RocprofKind::kCalls:
        return store_call();
      case RocprofKind::kCopies:
        return store_copy();
      case RocprofKind::kCounters:
        return store_counter();
      case RocprofKind::kSums:
        store_sum();
        return {};
      case RocprofKind::kAgents:
        take_agent();
        return {};
      case RocprofKind::kNone:
      case RocprofKind::kForeign:
        break;
    }
    return Error{ErrorCode::kInternal, "a row that belongs to no table"};
  }

  void count_stored(const char* category) {
    info_.counts.stored++;
    info_.records_by_category[category]++;
  }

  void note_device(const std::optional<int64_t>& number) {
    if (!number || info_.devices.size() >= kMaxDevices) return;
    for (const auto& known : info_.devices) {
      if (known.device == *number) return;
    }
    info_.devices.push_back({.device = static_cast<int32_t>(*number), .vendor = "AMD", .active = true});
  }

  Result<int32_t> track(const ProcessTrack& key) {
    const auto found = tracks_.find(key);
    if (!found.is_new) return found.track;
    if (tracks_.size() > kMaxTracks)
      return Error{ErrorCode::kLimit, "the trace has too many streams and threads"};
    constexpr auto kTable = TableId::tracks;
    const size_t row = writer_.add(kTable);
    writer_.set_text(kTable, row, tracks::kind, key.is_stream ? "stream" : "thread");
    writer_.set(kTable, row, tracks::process_id, key.first.value_or(kNull));
    writer_.set(kTable, row, tracks::thread_id, key.second.value_or(kNull));
    writer_.set(kTable, row, tracks::clock_id, 0);
    if (key.is_stream) {
      writer_.set(kTable, row, tracks::device, key.first.value_or(kNull));
      writer_.set(kTable, row, tracks::stream, key.second.value_or(kNull));
    }
    return found.track;
  }

  // ---- Work of devices

  RocprofColumn stream_column() const { return table_.has(kStream) ? kStream : kQueue; }

  Result<void> store_kernel() {
    const auto time = times(true);
    if (!time) {
      info_.counts.dropped["no_time"]++;
      return {};
    }
    const auto device = agent_number(field(kAgent));
    note_device(device);
    NL_TRY(const int32_t on, track({true, device, whole(stream_column())}));
    constexpr auto kTable = TableId::kernels;
    const size_t row = writer_.add(kTable);
    writer_.set_track(kTable, row, kernels::track_id, on);
    writer_.set_text(kTable, row, kernels::name, field(kKernelName));
    writer_.set_text(kTable, row, kernels::category, field(kKind));
    writer_.set(kTable, row, kernels::device, device.value_or(kNull));
    if (!device) keep_odd(kAgent);
    set_whole(kTable, row, kernels::stream, stream_column());
    writer_.set(kTable, row, kernels::start_ns, time->start);
    writer_.set(kTable, row, kernels::dur_ns, time->duration);
    writer_.set(kTable, row, kernels::correlation_id, correlation());
    set_small(kTable, row, kernels::registers_per_thread, kRegisters);
    set_whole(kTable, row, kernels::shared_memory_bytes, kSharedMemory);
    set_sizes(row);
    for (const RocprofColumn column : {kDispatch, kThread}) keep(column);
    if (table_.has(kStream)) keep(kQueue);
    keep_others();
    writer_.set_args(kTable, row, kernels::args, args_);
    count_stored("kernel");
    return {};
  }

  /// The source gives the grid in work-items, our column is in blocks. The last block of a row may be partly
  /// filled, so the quotient is rounded up.
  void set_sizes(size_t row) {
    constexpr auto kTable = TableId::kernels;
    constexpr RocprofColumn kGrids[] = {kGridX, kGridY, kGridZ}, kBlocks[] = {kBlockX, kBlockY, kBlockZ};
    for (int d = 0; d < 3; d++) {
      set_small(kTable, row, kernels::block_x + d, kBlocks[d]);
      const auto items = whole(kGrids[d]), block = whole(kBlocks[d]);
      const bool known = items && block && *items >= 0 && *block > 0;
      const int64_t blocks = known ? *items / *block + (*items % *block == 0 ? 0 : 1) : -1;
      if (is_small(blocks)) {
        writer_.set(kTable, row, kernels::grid_x + d, blocks);
      } else {
        keep_odd(kGrids[d]);
      }
    }
  }

  /// The one of the two agents that is a device.
  std::optional<int64_t> copy_device(const std::string& direction) const {
    if (has_part(direction, "host_to_device")) return agent_number(field(kTargetAgent));
    if (has_part(direction, "device_to_")) return agent_number(field(kSourceAgent));
    return std::nullopt;
  }

  Result<void> store_copy() {
    const auto time = times(true);
    if (!time) {
      info_.counts.dropped["no_time"]++;
      return {};
    }
    const auto device = copy_device(lower(field(kDirection)));
    note_device(device);
    NL_TRY(const int32_t on, track({true, device, whole(kStream)}));
    constexpr auto kTable = TableId::copies;
    const size_t row = writer_.add(kTable);
    writer_.set_track(kTable, row, copies::track_id, on);
    writer_.set_text(kTable, row, copies::name, field(kDirection));
    writer_.set_text(kTable, row, copies::category, field(kKind));
    writer_.set_text(kTable, row, copies::kind, "memcpy");
    writer_.set(kTable, row, copies::device, device.value_or(kNull));
    set_whole(kTable, row, copies::stream, kStream);
    writer_.set(kTable, row, copies::start_ns, time->start);
    writer_.set(kTable, row, copies::dur_ns, time->duration);
    writer_.set(kTable, row, copies::correlation_id, correlation());
    for (const RocprofColumn column : {kSourceAgent, kTargetAgent}) keep(column);
    keep_others();
    writer_.set_args(kTable, row, copies::args, args_);
    count_stored("copy");
    return {};
  }

  // ---- Calls and ranges

  /// Only calls of the domain MARKER_CORE are ranges or marks. Other MARKER_ domains name things or switch
  /// the profiler.
  static model::SpanKind kind_of(std::string_view domain, int64_t duration) {
    if (!domain.starts_with("MARKER_")) return model::SpanKind::runtime;
    if (!domain.starts_with("MARKER_CORE_")) return model::SpanKind::other;
    return duration == 0 ? model::SpanKind::instant : model::SpanKind::annotation;
  }

  Result<void> store_call() {
    const auto time = times(false);
    if (!time) {
      info_.counts.dropped["no_time"]++;
      return {};
    }
    NL_TRY(const int32_t on, track({false, whole(kProcess), whole(kThread)}));
    for (const RocprofColumn column : {kProcess, kThread}) {
      if (!whole(column)) keep_odd(column);
    }
    constexpr auto kTable = TableId::spans;
    const model::SpanKind kind = kind_of(field(kDomain), time->duration);
    const size_t row = writer_.add(kTable);
    writer_.set_track(kTable, row, spans::track_id, on);
    writer_.set_text(kTable, row, spans::name, field(kFunction));
    writer_.set_text(kTable, row, spans::category, field(kDomain));
    writer_.set(kTable, row, spans::kind, static_cast<int64_t>(kind));
    writer_.set(kTable, row, spans::start_ns, time->start);
    if (kind != model::SpanKind::instant) writer_.set(kTable, row, spans::dur_ns, time->duration);
    writer_.set(kTable, row, spans::correlation_id, correlation());
    keep_others();
    writer_.set_args(kTable, row, spans::args, args_);
    count_stored(kind == model::SpanKind::runtime ? "call" : "marker");
    return {};
  }

  // ---- Counters

  /// The launch that the counter belongs to. Its row is written when the launch is first seen.
  Result<int64_t> launch() {
    const auto process = whole(kProcess), dispatch = whole(kDispatch);
    const auto [it, is_new] =
        launches_.try_emplace({process.value_or(kNull), *dispatch}, static_cast<int64_t>(launches_.size()));
    if (!is_new) return it->second;
    if (launches_.size() > kMaxLaunches)
      return Error{ErrorCode::kLimit, "the file has counters of too many launches"};
    store_launch();
    return it->second;
  }

  void store_launch() {
    constexpr auto kTable = TableId::profiled_launches;
    const auto device = agent_number(field(kAgent));
    note_device(device);
    const size_t row = writer_.add(kTable);
    set_whole(kTable, row, profiled_launches::source_id, kDispatch);
    set_whole(kTable, row, profiled_launches::process_id, kProcess);
    set_whole(kTable, row, profiled_launches::stream, stream_column());
    writer_.set_text(kTable, row, profiled_launches::kernel_name, field(kKernelName));
    writer_.set(kTable, row, profiled_launches::device, device.value_or(kNull));
    if (!device) keep_odd(kAgent);
    set_products(row);
    if (table_.has(kStart)) {
      const auto time = times(true);
      writer_.set(kTable, row, profiled_launches::dur_ns, time ? time->duration : kNull);
    }
    for (const RocprofColumn column : {kCorrelation, kThread, kStart, kSharedMemory, kRegisters})
      keep(column);
    if (table_.has(kStream)) keep(kQueue);
    keep_others();
    writer_.set_args(kTable, row, profiled_launches::args, args_);
    info_.records_by_category["launch"]++;
  }

  /// The tables of counters only have the product of the three sizes; it is stored in x.
  void set_products(size_t row) {
    constexpr auto kTable = TableId::profiled_launches;
    const auto items = whole(kGrid), block = whole(kBlock);
    set_small(kTable, row, profiled_launches::block_x, kBlock);
    const bool divides = items && block && *items >= 0 && *block > 0 && *items % *block == 0;
    if (divides && is_small(*items / *block)) {
      writer_.set(kTable, row, profiled_launches::grid_x, *items / *block);
    } else {
      keep_odd(kGrid);
    }
  }

  Result<void> store_counter() {
    if (!whole(kDispatch) || field(kCounterName).empty()) {
      info_.counts.dropped["no_launch_or_counter"]++;
      return {};
    }
    NL_TRY(const int64_t launch, this->launch());
    constexpr auto kTable = TableId::kernel_metrics;
    const size_t row = writer_.add(kTable);
    writer_.set(kTable, row, kernel_metrics::launch_id, launch);
    writer_.set_text(kTable, row, kernel_metrics::metric, field(kCounterName));
    set_value(row, read_number(field(kCounterValue), DecimalSign::kPoint));
    count_stored("metric");
    return {};
  }

  void set_value(size_t row, const PrintedNumber& number) {
    constexpr auto kTable = TableId::kernel_metrics;
    const bool is_one = number.kind == Kind::kNumber && number.instances.empty();
    const auto value = is_one ? scaled_double(number.decimal, 0) : std::optional<double>();
    if (value) {
      writer_.set_double(kTable, row, kernel_metrics::value, *value);
    } else if (number.kind == Kind::kAbsent) {
      writer_.set_text(kTable, row, kernel_metrics::absent, number.absent);
    } else {
      info_.health["odd_value"]++;
      writer_.set_text(kTable, row, kernel_metrics::text, field(kCounterValue));
    }
  }

  // ---- Sums and agents

  void store_sum() {
    constexpr auto kTable = TableId::summaries;
    const size_t row = writer_.add(kTable);
    writer_.set_text(kTable, row, summaries::report, role_);
    writer_.set_text(kTable, row, summaries::name, field(kName));
    writer_.set_text(kTable, row, summaries::unit, "ns");
    set_whole(kTable, row, summaries::calls, kCalls);
    for (const auto& [meaning, column] :
         {std::pair{kTotal, int{summaries::total}}, std::pair{kAverage, int{summaries::average}},
          std::pair{kMinimum, int{summaries::minimum}}, std::pair{kMaximum, int{summaries::maximum}},
          std::pair{kDeviation, int{summaries::deviation}}, std::pair{kShare, int{summaries::share_pct}}}) {
      const auto value = scaled_double(field(meaning), 0);
      if (value) {
        writer_.set_double(kTable, row, column, *value);
      } else {
        keep_odd(meaning);
      }
    }
    keep_others();
    writer_.set_args(kTable, row, summaries::args, args_);
    count_stored("sum");
  }

  /// An agent has two numbers. Traces use the logical one since they call agents "Agent 1", and used the node
  /// before. So the node is only taken from tables without a logical number.
  void take_agent() {
    info_.counts.folded["agent"]++;
    const auto number = whole(table_.has(kLogicalNode) ? kLogicalNode : kNode);
    if (field(kAgentType) != "GPU" || !number || !is_small(*number)) return;
    if (info_.devices.size() >= kMaxDevices) return;
    if (number != whole(kNode)) info_.health["agent_has_two_numbers"]++;
    model::Device device;
    device.device = static_cast<int32_t>(*number);
    device.name = repaired_utf8(field(kProduct).empty() ? field(kName) : field(kProduct));
    device.vendor = "AMD";
    if (const auto units = whole(kComputeUnits); units && *units > 0) device.multiprocessors = *units;
    info_.devices.push_back(std::move(device));
  }

  CsvReader& reader_;
  const std::string_view role_;
  ProcessTracks own_tracks_ = {};
  ProcessTracks& tracks_;
  RowWriter writer_;
  model::RunInfo& info_;
  RocprofTable table_ = {};
  std::vector<std::string_view> fields_ = {};
  std::string guid_ = {};
  std::map<std::pair<int64_t, int64_t>, int64_t> launches_ = {};  ///< process and dispatch -> row
  std::map<std::string, std::string> args_ = {};
};

// ---- Which file it is

constexpr std::string_view kSums = "stats";
constexpr std::string_view kSumRoles[] = {"counter_collection_stats",
                                          "domain_stats",
                                          "hip_api_stats",
                                          "hsa_api_stats",
                                          "kernel_stats",
                                          "marker_api_stats",
                                          "memory_allocation_stats",
                                          "memory_copy_stats",
                                          "rccl_api_stats",
                                          "scratch_memory_stats"};

/// All tables of sums look alike; only the name of the file shows what was summed.
std::string_view sum_role(std::string_view file_name) {
  for (const std::string_view role : kSumRoles) {
    if (has_part(file_name, role)) return role;
  }
  return kSums;
}

/// All tables of calls look alike; the domain of the first row shows which API it is.
std::string_view call_role(const RocprofTable& table, std::string_view first_row) {
  const auto fields = header_fields(first_row);
  const auto domain = table.find(kDomain);
  const std::string_view of = *domain < fields.size() ? fields[*domain] : std::string_view();
  if (of.starts_with("HIP_")) return "hip_api_trace";
  if (of.starts_with("HSA_")) return "hsa_api_trace";
  if (of.starts_with("MARKER_")) return "marker_api_trace";
  if (of.starts_with("RCCL_")) return "rccl_api_trace";
  return "api_trace";
}

std::string_view role_of(const RocprofTable& table, std::string_view first_row, std::string_view file_name) {
  switch (table.kind()) {
    case RocprofKind::kCalls:
      return call_role(table, first_row);
    case RocprofKind::kSums:
      return sum_role(file_name);
    case RocprofKind::kCopies:
      return "memory_copy_trace";
    case RocprofKind::kCounters:
      return "counter_collection";
    case RocprofKind::kAgents:
      return "agent_info";
    default:
      return "kernel_trace";
  }
}

/// The JSON format of the same tool. It is recognised only to say that it is not supported.
bool is_json(std::string_view head) {
  constexpr size_t kLook = 256;
  return head.starts_with('{') && has_part(head.substr(0, kLook), "\"rocprofiler-sdk-tool\"");
}

Sniffed sniff(std::string_view head, std::string_view file_name) {
  constexpr size_t kLongestHeader = 4096;
  if (is_json(head)) return {0.9};
  head = without_byte_order_mark(head);
  const size_t end = head.find('\n');
  const std::string_view line = trimmed(head.substr(0, end));
  if (line.size() > kLongestHeader) return {};
  const RocprofTable table(header_fields(line));
  if (table.kind() == RocprofKind::kNone) return {};
  std::string_view rest = end == std::string_view::npos ? std::string_view() : head.substr(end + 1);
  return {0.95, role_of(table, rest.substr(0, rest.find('\n')), file_name)};
}

Result<void> read(ByteSource& source, const ReadOptions& options, model::RunSink& sink,
                  model::RunInfo& info) {
  if (is_json(source.head()))
    return Error{ErrorCode::kUnsupported, "results of rocprofv3 are read as CSV, not as JSON", kExport};
  CsvReader reader(source, {.chunk_bytes = options.window_bytes});
  Rocprof rocprof(reader, options, sink, info);
  NL_CHECK(rocprof.read_header());
  NL_CHECK(for_each_row(source, options, [&] { return rocprof.next(); }));
  if (!reader.was_ended()) info.health["no_line_end"] = 1;
  return rocprof.finish();
}

constexpr std::string_view kPartWords[] = {"agent",   "allocation", "api",  "collection", "copy",    "csv",
                                           "counter", "domain",     "hip",  "hsa",        "info",    "kernel",
                                           "marker",  "memory",     "rccl", "stats",      "scratch", "trace"};

}  // namespace

const Adapter& adapter() {
  static constexpr Adapter kAdapter{
      "rocprofv3",    1,          "ROCm: traces, counters and sums of rocprofv3 (.csv)",
      "kernel_trace", kPartWords, sniff,
      read,           true};
  return kAdapter;
}

}  // namespace nl::ingest::rocprofv3_adapter
