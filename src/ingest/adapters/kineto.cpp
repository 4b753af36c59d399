// PyTorch/Kineto Chrome traces, dialects of 2021 to 2026: NVIDIA, AMD, MTIA and CPU-only.
// Times are decimal microseconds, relative to baseTimeNanoseconds if that is given (often behind the events),
// else Unix time. Events are classified by their category, never by their process id.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/decimal.h"
#include "base/text.h"
#include "ingest/adapter.h"
#include "ingest/interner.h"
#include "ingest/json_cursor.h"
#include "ingest/small_json.h"
#include "ingest/trace_event.h"
#include "ingest/track_table.h"
#include "ingest/window_pipeline.h"

namespace nl::ingest {
namespace {

using model::Batch;
using model::kNull;
using model::SpanKind;
using model::TableId;
namespace spans = model::spans;
namespace kernels = model::kernels;
namespace copies = model::copies;
namespace syncs = model::syncs;
namespace allocations = model::allocations;
namespace flows = model::flows;

// ---- What a category means
// ------------------------------------------------------------------------------------------

/// The kinds of spans, and what goes to tables of its own.
enum class Class : uint8_t {
  kOp = static_cast<int>(SpanKind::op),
  kRuntime = static_cast<int>(SpanKind::runtime),
  kAnnotation = static_cast<int>(SpanKind::annotation),
  kDeviceAnnotation = static_cast<int>(SpanKind::device_annotation),
  kPython = static_cast<int>(SpanKind::python),
  kDevice = static_cast<int>(SpanKind::device),
  kOverhead = static_cast<int>(SpanKind::overhead),
  kInstant = static_cast<int>(SpanKind::instant),
  kOther = static_cast<int>(SpanKind::other),
  kKernel,
  kMemcpy,
  kMemset,
  kSync,
  kAllocation,
  kCount
};

constexpr TableId table_of(Class c) {
  switch (c) {
    case Class::kKernel:
      return TableId::kernels;
    case Class::kMemcpy:
    case Class::kMemset:
      return TableId::copies;
    case Class::kSync:
      return TableId::syncs;
    case Class::kAllocation:
      return TableId::allocations;
    default:
      return TableId::spans;
  }
}

bool is_device_work(TableId table) {
  return table == TableId::kernels || table == TableId::copies;
}

/// Where a table keeps what every event has; -1 where it does not.
struct HeadColumns {
  int track, name, category, start, duration;
};

constexpr HeadColumns head_columns(TableId table) {
  switch (table) {
    case TableId::kernels:
      return {kernels::track_id, kernels::name, kernels::category, kernels::start_ns, kernels::dur_ns};
    case TableId::copies:
      return {copies::track_id, copies::name, copies::category, copies::start_ns, copies::dur_ns};
    case TableId::syncs:
      return {syncs::track_id, syncs::name, syncs::category, syncs::start_ns, syncs::dur_ns};
    case TableId::allocations:
      return {allocations::track_id, -1, -1, allocations::start_ns, -1};
    default:
      return {spans::track_id, spans::name, spans::category, spans::start_ns, spans::dur_ns};
  }
}

/// Category names of 2021 are capitalised, later ones are not.
Class class_of(std::string_view category) {
  std::string name(category.substr(0, 64));
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  if (name == "cpu_op" || name == "operator") return Class::kOp;
  if (name == "kernel") return Class::kKernel;
  if (name == "gpu_memcpy" || name == "memcpy") return Class::kMemcpy;
  if (name == "gpu_memset" || name == "memset") return Class::kMemset;
  if (name == "cuda_sync") return Class::kSync;
  if (name == "runtime" || name.ends_with("_runtime") || name.ends_with("_driver")) return Class::kRuntime;
  if (name == "user_annotation") return Class::kAnnotation;
  if (name.ends_with("_user_annotation")) return Class::kDeviceAnnotation;
  if (name == "python_function") return Class::kPython;
  if (name == "mtia_ccp_events" || name == "cuda_profiler_range") return Class::kDevice;
  if (name == "overhead") return Class::kOverhead;
  return Class::kOther;
}

TrackDomain domain_of(Class c) {
  switch (c) {
    case Class::kKernel:
    case Class::kMemcpy:
    case Class::kMemset:
    case Class::kSync:
    case Class::kDevice:
    case Class::kDeviceAnnotation:
      return TrackDomain::kDevice;
    default:
      return TrackDomain::kHost;
  }
}

// ---- Arguments that have a column
// -----------------------------------------------------------------------------------

enum class Value : uint8_t { kInt, kDouble, kText, kJson, kGrid };

struct KnownArg {
  std::string_view key;
  Class of;
  TableId table;
  int column;
  Value value = Value::kInt;
};

constexpr KnownArg kKnownArgs[] = {
    {"Input Dims", Class::kOp, TableId::spans, spans::shapes, Value::kJson},
    {"Input type", Class::kOp, TableId::spans, spans::dtypes, Value::kJson},
    {"Input Strides", Class::kOp, TableId::spans, spans::strides, Value::kJson},
    {"Concrete Inputs", Class::kOp, TableId::spans, spans::inputs, Value::kJson},
    {"Sequence number", Class::kOp, TableId::spans, spans::sequence_number},
    {"Fwd thread id", Class::kOp, TableId::spans, spans::forward_thread_id},
    {"device", Class::kKernel, TableId::kernels, kernels::device},
    {"stream", Class::kKernel, TableId::kernels, kernels::stream},
    {"correlation", Class::kKernel, TableId::kernels, kernels::correlation_id},
    {"External id", Class::kKernel, TableId::kernels, kernels::external_id},
    {"external id", Class::kKernel, TableId::kernels, kernels::external_id},
    {"context", Class::kKernel, TableId::kernels, kernels::context_id},
    {"queued", Class::kKernel, TableId::kernels, kernels::queued},
    {"registers per thread", Class::kKernel, TableId::kernels, kernels::registers_per_thread},
    {"shared memory", Class::kKernel, TableId::kernels, kernels::shared_memory_bytes},
    {"blocks per SM", Class::kKernel, TableId::kernels, kernels::blocks_per_sm, Value::kDouble},
    {"warps per SM", Class::kKernel, TableId::kernels, kernels::warps_per_sm, Value::kDouble},
    {"grid", Class::kKernel, TableId::kernels, kernels::grid_x, Value::kGrid},
    {"block", Class::kKernel, TableId::kernels, kernels::block_x, Value::kGrid},
    {"est. achieved occupancy %", Class::kKernel, TableId::kernels, kernels::occupancy_pct, Value::kDouble},
    {"graph id", Class::kKernel, TableId::kernels, kernels::graph_id},
    {"graph node id", Class::kKernel, TableId::kernels, kernels::graph_node_id},
    {"device", Class::kSync, TableId::syncs, syncs::device},
    {"stream", Class::kSync, TableId::syncs, syncs::stream},
    {"correlation", Class::kSync, TableId::syncs, syncs::correlation_id},
    {"External id", Class::kSync, TableId::syncs, syncs::external_id},
    {"context", Class::kSync, TableId::syncs, syncs::context_id},
    {"cuda_sync_kind", Class::kSync, TableId::syncs, syncs::kind, Value::kText},
    {"wait_on_stream", Class::kSync, TableId::syncs, syncs::wait_on_stream},
    {"wait_on_cuda_event_record_corr_id", Class::kSync, TableId::syncs, syncs::wait_on_correlation_id},
    {"wait_on_cuda_event_id", Class::kSync, TableId::syncs, syncs::wait_on_event_id},
    {"Device Type", Class::kAllocation, TableId::allocations, allocations::device_type},
    {"Device Id", Class::kAllocation, TableId::allocations, allocations::device},
    {"Addr", Class::kAllocation, TableId::allocations, allocations::address},
    {"Bytes", Class::kAllocation, TableId::allocations, allocations::bytes},
    {"Total Allocated", Class::kAllocation, TableId::allocations, allocations::total_allocated_bytes},
    {"Total Reserved", Class::kAllocation, TableId::allocations, allocations::total_reserved_bytes},
    {"Ev Idx", Class::kAllocation, TableId::allocations, allocations::source_index},
};

// For memcpy and memset.
constexpr KnownArg kCopyArgs[] = {
    {"device", Class::kMemcpy, TableId::copies, copies::device},
    {"stream", Class::kMemcpy, TableId::copies, copies::stream},
    {"correlation", Class::kMemcpy, TableId::copies, copies::correlation_id},
    {"External id", Class::kMemcpy, TableId::copies, copies::external_id},
    {"external id", Class::kMemcpy, TableId::copies, copies::external_id},
    {"context", Class::kMemcpy, TableId::copies, copies::context_id},
    {"bytes", Class::kMemcpy, TableId::copies, copies::bytes},
    {"memory bandwidth (GB/s)", Class::kMemcpy, TableId::copies, copies::bandwidth_gb_per_s, Value::kDouble},
};

// For every class of the table spans.
constexpr KnownArg kSpanArgs[] = {
    {"correlation", Class::kOther, TableId::spans, spans::correlation_id},
    {"External id", Class::kOther, TableId::spans, spans::external_id},
    {"external id", Class::kOther, TableId::spans, spans::external_id},
    {"cbid", Class::kOther, TableId::spans, spans::api_id},
    {"Ev Idx", Class::kOther, TableId::spans, spans::source_index},
    {"Record function id", Class::kOther, TableId::spans, spans::record_function_id},
    {"Python id", Class::kOther, TableId::spans, spans::python_id},
    {"Python parent id", Class::kOther, TableId::spans, spans::python_parent_id},
    {"Python module id", Class::kOther, TableId::spans, spans::python_module_id},
};

struct Target {
  TableId table = TableId::kCount;  // kCount: no column
  int column = 0;
  Value value = Value::kInt;
};

/// Which column an argument of a class goes to: a perfect hash of the key, checked at start-up.
class ArgTargets {
 public:
  ArgTargets() {
    for (const auto& arg : kKnownArgs) add(arg, arg.of);
    for (const auto& arg : kCopyArgs) add(arg, Class::kMemcpy), add(arg, Class::kMemset);
    for (const auto& arg : kSpanArgs) {
      for (int c = 0; c <= static_cast<int>(Class::kOther); c++) add(arg, static_cast<Class>(c));
    }
  }
  const Target& find(std::string_view key, Class c) const {
    static constexpr Target kNone;
    const Slot& slot = slots_[slot_of(key)];
    return same_text(slot.key, key) ? slot.targets[static_cast<size_t>(c)] : kNone;
  }
  bool collides() const { return collides_; }

 private:
  struct Slot {
    std::string_view key;
    std::array<Target, static_cast<size_t>(Class::kCount)> targets;
  };
  static size_t slot_of(std::string_view key) {
    if (key.size() < 4) return 0;
    uint32_t first = 0, last = 0;
    std::memcpy(&first, key.data(), 4);
    std::memcpy(&last, key.data() + key.size() - 4, 4);
    return ((first * 0x9E3779B1u) ^ (last * 0x85EBCA77u) ^
            (static_cast<uint32_t>(key.size()) * 0xC2B2AE3Du)) >>
           21;
  }
  void add(const KnownArg& arg, Class c) {
    Slot& slot = slots_[slot_of(arg.key)];
    collides_ = collides_ || (!slot.key.empty() && slot.key != arg.key);
    slot.key = arg.key;
    slot.targets[static_cast<size_t>(c)] = {arg.table, arg.column, arg.value};
  }
  std::array<Slot, 2048> slots_;
  bool collides_ = false;
};

// ---- One window
// -----------------------------------------------------------------------------------------------------

/// What makes a flow arrow say nothing that the event before it does not say.
struct EventKey {
  std::string process, thread;
  int64_t time_ns = kNull;
  int64_t correlation = kNull;
  auto operator<=>(const EventKey&) const = default;
};

/// A flow at the start of a window, whose event may end the window before.
struct OpenFlow {
  size_t row;
  EventKey key;
};

struct ParsedWindow {
  std::shared_ptr<Batch> batch;
  std::vector<TrackKey> tracks;
  std::vector<TrackMetadata> metadata;
  std::vector<OpenFlow> open_flows;
  std::optional<EventKey> last_event;
  std::vector<model::Window> windows;
  std::set<int32_t> devices;
  std::map<std::string, int64_t> by_phase, by_category, folded, dropped, health;
  int64_t seen = 0;
  int64_t stored = 0;
  int64_t min_start_ns = INT64_MAX;
  bool has_nanoseconds = false;
};

class WindowParser {
 public:
  WindowParser(const ArgTargets& targets, model::BatchPool& pool) : targets_(targets), pool_(pool) {}

  Result<ParsedWindow> parse(JsonWindow& window) {
    ParsedWindow out;
    out.batch = pool_.take();
    out_ = &out;
    batch_ = out.batch.get();
    strings_.clear();
    track_numbers_.clear();
    categories_.clear();
    last_ = {};
    NL_TRY(JsonCursor cursor, index_.index(window));
    if (!read_events(cursor, window.is_whole)) {
      const auto at = window.offset + static_cast<int64_t>(cursor.position()) - 1;
      return Error{ErrorCode::kBadInput, "the JSON is not valid near byte " + std::to_string(at)};
    }
    finish();
    pool_.expect_like(*batch_);
    return out;
  }

 private:
  struct Category {
    int64_t text = kNull;
    Class of = Class::kOther;
    int64_t events = 0;
  };
  struct LastEvent {
    std::string_view process, thread;
    int64_t time_ns = kNull;
    int64_t correlation = kNull;
  };

  bool read_events(JsonCursor& cursor, bool may_be_empty) {
    if (!cursor.take('[')) return false;
    if (cursor.take(']')) return may_be_empty;
    for (;;) {
      out_->seen++;
      if (cursor.peek() == '{') {
        if (!read_trace_event(cursor, event_) || !take_event()) return false;
      } else {
        std::string_view raw;
        if (!cursor.take_value(raw)) return false;
        out_->dropped["not_an_object"]++;
      }
      if (cursor.take(']')) return true;
      if (!cursor.take(',')) return false;
    }
  }

  /// False only if the JSON is wrong; what cannot be stored is dropped and counted.
  bool take_event() {
    const std::string_view phase = unquoted(event_.phase);
    if (phase.size() != 1) return drop("no_phase");
    phases_[static_cast<unsigned char>(phase[0])]++;
    switch (phase[0]) {
      case 'X':
        return take_complete();
      case 's':
      case 't':
      case 'f':
        return take_flow();
      case 'i':
      case 'I':
        return take_instant();
      case 'M':
        return take_metadata();
      default:
        return drop("unsupported_phase");
    }
  }

  bool drop(const char* reason) {
    out_->dropped[reason]++;
    return true;
  }

  bool take_complete() {
    Category* const category = category_of(event_.category);
    if (category == nullptr) return false;
    category->events++;
    return store(category->of, category->text);
  }

  bool take_instant() {
    const bool memory = event_.name == "\"[memory]\"";
    Category* const category = category_of(event_.category);
    if (category == nullptr) return false;
    return store(memory ? Class::kAllocation : Class::kInstant, category->text);
  }

  // -- rows

  bool store(Class c, int64_t category) {
    int64_t start = kNull;
    int64_t duration = kNull;
    if (!read_times(start, duration)) return true;
    const TableId table = table_of(c);
    const size_t row = batch_->add_row(table);
    int64_t name = kNull;
    if (!event_.name.empty() && (name = text_of(event_.name)) == kNull) return false;
    correlation_ = kNull;
    const HeadColumns columns = head_columns(table);
    set(table, row, columns.track, track_of(c));
    set(table, row, columns.name, name);
    set(table, row, columns.category, category);
    set_kind(c, table, row, name, start, duration);
    if (is_device_work(table) && start == 0 && duration == 0) {  // CUPTI writes 0 for "no timing"
      out_->health["device_record_without_time"]++;
    } else {
      set(table, row, columns.start, start);
      set(table, row, columns.duration, duration);
    }
    if (!valid_ids_ || !set_args(c, table, row)) return false;
    if (is_device_work(table)) complete_device(table, row);
    out_->stored++;
    last_ = {event_.process, event_.thread, start, correlation_};
    return true;
  }

  /// False if the event was dropped for want of a time.
  bool read_times(int64_t& start, int64_t& duration) {
    constexpr int64_t kLastTime = 4'000'000'000'000'000'000;  // base + start + duration stay within int64
    if (event_.time.empty()) return !drop("no_time");
    switch (parse_decimal(unquoted(event_.time), 3, start)) {
      case DecimalParse::kExact:
        break;
      case DecimalParse::kTruncated:
        out_->health["time_below_ns"]++;
        event_.extras.push_back({"ts", event_.time});
        break;
      case DecimalParse::kBad:
        return !drop("bad_time");
    }
    if (start > kLastTime || start < -kLastTime) return !drop("time_out_of_range");
    if (!event_.duration.empty()) read_duration(duration);
    if (start != 0) out_->min_start_ns = std::min(out_->min_start_ns, start);
    if (start % 1000 != 0) out_->has_nanoseconds = true;
    return true;
  }

  /// A duration that is negative, not a number or past the end of time stays with the row as text.
  void read_duration(int64_t& duration) {
    constexpr int64_t kLongest = 1'000'000'000'000'000'000;  // 31 years
    int64_t value = 0;
    const auto parsed = parse_decimal(unquoted(event_.duration), 3, value);
    const char* oddity = nullptr;
    if (parsed == DecimalParse::kBad) {
      oddity = "bad_duration";
    } else if (value < 0) {
      oddity = "negative_duration";
    } else if (value > kLongest) {
      oddity = "duration_out_of_range";
    } else {
      duration = value;
      if (parsed == DecimalParse::kTruncated) oddity = "time_below_ns";
    }
    if (oddity == nullptr) return;
    out_->health[oddity]++;
    event_.extras.push_back({"dur", event_.duration});
  }

  /// What has no column (-1) or no value is left out.
  void set(TableId table, size_t row, int column, int64_t value) {
    if (value != kNull && column >= 0) batch_->set(table, row, column, value);
  }

  void set_kind(Class c, TableId table, size_t row, int64_t name, int64_t start, int64_t duration) {
    if (table == TableId::spans) set(table, row, spans::kind, static_cast<int64_t>(c));
    if (table == TableId::copies) {
      set(table, row, copies::kind, text_of(c == Class::kMemcpy ? "\"memcpy\"" : "\"memset\""));
    }
    if (c == Class::kAnnotation && event_.name.starts_with("\"ProfilerStep#") && duration != kNull) {
      const auto step_name = batch_->strings[static_cast<size_t>(name)];
      out_->windows.push_back({"step", std::string(step_name), start, duration});
    }
  }

  /// Device and stream come from the arguments, else from the process and thread ids.
  void complete_device(TableId table, size_t row) {
    static_assert(kernels::device == 4 && kernels::stream == 5 && copies::device == 5 && copies::stream == 6);
    const int device_column = table == TableId::kernels ? int{kernels::device} : int{copies::device};
    const int stream_column = device_column + 1;
    auto& rows = batch_->rows(table);
    int64_t device = rows.cell(row, device_column);
    int64_t number = 0;
    if (device == kNull && parse_int64(unquoted(event_.process), number) &&
        number == static_cast<int32_t>(number)) {
      device = number;
      rows.set(row, device_column, number);
    }
    if (rows.cell(row, stream_column) == kNull) {
      const SourceId thread = SourceId::of_token(event_.thread);
      if (thread.number) rows.set(row, stream_column, *thread.number);
    }
    if (device != kNull && device != last_device_) {
      last_device_ = device;
      out_->devices.insert(static_cast<int32_t>(device));
    }
  }

  // -- arguments

  bool set_args(Class c, TableId table, size_t row) {
    rest_.clear();
    for (const TraceArg& arg : event_.args) {
      const Target& target = targets_.find(arg.key, c);
      if (target.table == TableId::kCount || !set_value(target, row, arg.raw)) rest_.push_back(&arg);
    }
    if (rest_.empty() && event_.extras.empty()) return true;
    const int column = static_cast<int>(model::table(table).columns.size()) - 1;  // args is the last column
    return set_rest(table, row, column);
  }

  /// False if the value is not what the column holds; it then goes to the rest.
  bool set_value(const Target& target, size_t row, std::string_view raw) {
    auto& rows = batch_->rows(target.table);
    if (rows.cell(row, target.column) != kNull) return false;
    switch (target.value) {
      case Value::kInt: {
        int64_t number = 0;
        if (!parse_int64(raw, number) || number == kNull || (raw.size() > 1 && raw[0] == '0')) return false;
        const model::Type type = model::table(target.table).columns[static_cast<size_t>(target.column)].type;
        if (type == model::Type::i32 && number != static_cast<int32_t>(number)) return false;
        if (target.column == correlation_column(target.table)) correlation_ = number;
        rows.set(row, target.column, number);
        return true;
      }
      case Value::kDouble: {
        double number = 0;
        const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), number);
        if (error != std::errc{} || end != raw.data() + raw.size() || !is_json_scalar(raw)) return false;
        rows.set(row, target.column, std::bit_cast<int64_t>(number));
        return true;
      }
      case Value::kText: {
        if (raw[0] != '"') return false;
        const int64_t text = text_of(raw);
        if (text == kNull) return false;
        rows.set(row, target.column, text);
        return true;
      }
      case Value::kJson: {
        if (raw[0] != '[') return false;
        rows.set(row, target.column, json_of(raw));
        return true;
      }
      case Value::kGrid:
        return set_grid(rows, row, target.column, raw);
    }
    return false;
  }

  static int correlation_column(TableId table) {
    switch (table) {
      case TableId::spans:
        return spans::correlation_id;
      case TableId::kernels:
        return kernels::correlation_id;
      case TableId::copies:
        return copies::correlation_id;
      case TableId::syncs:
        return syncs::correlation_id;
      default:
        return -1;
    }
  }

  /// [x, y, z] into three columns.
  static bool set_grid(model::Rows& rows, size_t row, int column, std::string_view raw) {
    if (raw.size() < 2 || raw[0] != '[') return false;
    const char* p = raw.data() + 1;
    const char* const end = raw.data() + raw.size();
    const auto skip_blanks = [&] {
      while (p < end && static_cast<unsigned char>(*p) <= ' ') p++;
    };
    int32_t size[3];
    for (int i = 0; i < 3; i++) {
      skip_blanks();
      const auto [stop, error] = std::from_chars(p, end, size[i]);
      if (error != std::errc{}) return false;
      p = stop;
      skip_blanks();
      if (p == end || *p++ != (i < 2 ? ',' : ']')) return false;
    }
    if (p != end) return false;
    for (int i = 0; i < 3; i++) rows.set(row, column + i, size[i]);
    return true;
  }

  /// Everything without a column, as one JSON object; keys of the event itself go under "$event".
  bool set_rest(TableId table, size_t row, int column) {
    size_t size = 16;
    for (const TraceArg* arg : rest_) size += arg->key.size() + arg->raw.size() + 8;
    for (const TraceArg& extra : event_.extras) size += extra.key.size() + extra.raw.size() + 8;
    char* const begin = batch_->arena.reserve(size);
    char* p = begin;
    const auto put = [&](std::string_view text) {
      std::memcpy(p, text.data(), text.size());
      p += text.size();
    };
    const auto put_member = [&](const TraceArg& arg) {
      if (!has_valid_escapes(arg.key)) return false;
      put(p[-1] == '{' ? "\"" : ",\"");
      put(arg.key);
      put("\":");
      return put_checked(arg.raw, put);
    };
    put("{");
    for (const TraceArg* arg : rest_) {
      if (!put_member(*arg)) return false;
    }
    if (!event_.extras.empty()) {
      put(p[-1] == '{' ? "\"$event\":{" : ",\"$event\":{");
      for (const TraceArg& extra : event_.extras) {
        if (!put_member(extra)) return false;
      }
      put("}");
    }
    put("}");
    const auto used = static_cast<size_t>(p - begin);
    replace_lone_surrogates(begin, used);
    batch_->arena.shrink_last(size - used);
    batch_->set(table, row, column, batch_->add_string({begin, used}));
    return true;
  }

  /// Profilers print inf and nan, which JSON does not know: kept as text and counted.
  template <class Put>
  bool put_checked(std::string_view raw, Put put) {
    if (raw[0] == '{' || raw[0] == '[' || is_json_scalar(raw)) {
      put(raw);
      return true;
    }
    for (const char c : raw) {
      const bool plain =
          (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '.' || c == '-';
      if (!plain || raw.size() > 32) return false;
    }
    out_->health["value_not_json"]++;
    put("\"");
    put(raw);
    put("\"");
    return true;
  }

  // -- strings, categories, tracks

  /// kNull if the token is not a valid string or scalar.
  int64_t text_of(std::string_view token) {
    return strings_.get(token, [&]() -> int64_t {
      std::string_view text;
      if (token[0] == '"') {
        if (!index_.unescape(token, batch_->arena, text)) return kNull;
      } else {
        if (!is_json_scalar(token)) return kNull;
        text = batch_->arena.keep(token);
      }
      return batch_->add_string(text);
    });
  }

  /// JSON text as it stands; told from a string by its first character.
  int64_t json_of(std::string_view raw) {
    return strings_.get(raw, [&] {
      char* const copy = batch_->arena.reserve(raw.size());
      std::memcpy(copy, raw.data(), raw.size());
      replace_lone_surrogates(copy, raw.size());
      return batch_->add_string({copy, raw.size()});
    });
  }

  Category* category_of(std::string_view token) {
    if (!categories_.empty() && same_text(token, last_category_token_)) return &categories_[last_category_];
    const int64_t text = token.empty() ? kNull : text_of(token);
    if (!token.empty() && text == kNull) return nullptr;
    last_category_token_ = token;
    for (last_category_ = 0; last_category_ < categories_.size(); last_category_++) {
      if (categories_[last_category_].text == text) return &categories_[last_category_];
    }
    const Class c = text == kNull ? Class::kOther : class_of(batch_->strings[static_cast<size_t>(text)]);
    categories_.push_back({text, c, 0});
    return &categories_.back();
  }

  int64_t track_of(Class c) {
    const TrackDomain domain = domain_of(c);
    LastTrack& last = last_tracks_[static_cast<size_t>(domain)];
    if (last.number < out_->tracks.size() && same_text(event_.thread, last.thread) &&
        same_text(event_.process, last.process)) {
      return static_cast<int64_t>(last.number);
    }
    last = {event_.process, event_.thread, 0};
    std::string key(1, static_cast<char>(domain));
    key.append(event_.process).append(1, '\n').append(event_.thread);
    const auto [known, is_new] = track_numbers_.try_emplace(std::move(key), out_->tracks.size());
    last.number = known->second;
    if (!is_new) return static_cast<int64_t>(last.number);
    valid_ids_ = valid_ids_ && is_id(event_.process) && is_id(event_.thread);
    out_->tracks.push_back({domain, SourceId::of_token(event_.process), SourceId::of_token(event_.thread)});
    return static_cast<int64_t>(last.number);
  }

  /// Absent, or a JSON scalar.
  static bool is_id(std::string_view token) { return token.empty() || is_json_scalar(token); }

  // -- flows and metadata

  bool take_flow() {
    int64_t start = kNull;
    int64_t id = kNull;
    const std::string_view category = unquoted(event_.category);
    const bool launch_arrow = category == "ac2g" || category == "async_cpu_to_gpu" || category == "async";
    const bool plain = parse_int64(unquoted(event_.id), id) &&
                       parse_decimal(unquoted(event_.time), 3, start) == DecimalParse::kExact;
    // "bp":"e" stands on every end and says nothing by itself.
    std::erase_if(event_.extras, [](const TraceArg& e) { return e.key == "bp" && e.raw == "\"e\""; });
    const bool comparable =
        launch_arrow && plain && id != kNull && event_.args.empty() && event_.extras.empty();
    if (comparable && last_.time_ns == start && last_.correlation == id &&
        same_text(last_.process, event_.process) && same_text(last_.thread, event_.thread)) {
      out_->folded["flow_repeats_its_event"]++;
      return true;
    }
    int64_t unused = kNull;
    if (!read_times(start, unused)) return true;
    const size_t row = batch_->add_row(TableId::flows);
    if (comparable && last_.time_ns == kNull) {
      out_->open_flows.push_back({row, {std::string(event_.process), std::string(event_.thread), start, id}});
    }
    return is_id(event_.process) && is_id(event_.thread) && is_id(event_.id) && set_flow(row, start, id);
  }

  bool set_flow(size_t row, int64_t start, int64_t id) {
    constexpr auto kTable = TableId::flows;
    const std::pair<std::string_view, int> texts[] = {{event_.name, flows::name},
                                                      {event_.category, flows::category}};
    for (const auto& [token, column] : texts) {
      if (token.empty()) continue;
      const int64_t text = text_of(token);
      if (text == kNull) return false;
      set(kTable, row, column, text);
    }
    set(kTable, row, flows::phase, text_of(event_.phase));
    set(kTable, row, flows::start_ns, start);
    set(kTable, row, flows::arrow_id, id);
    if (id == kNull && !event_.id.empty()) event_.extras.push_back({"id", event_.id});
    const std::pair<std::string_view, int> ids[] = {{event_.process, flows::process_id},
                                                    {event_.thread, flows::thread_id}};
    for (const auto& [token, column] : ids) {
      const SourceId source = SourceId::of_token(token);
      if (source.number) {
        set(kTable, row, column, *source.number);
      } else if (!token.empty()) {
        event_.extras.push_back({column == flows::process_id ? "pid" : "tid", token});
      }
    }
    rest_.clear();
    for (const TraceArg& arg : event_.args) rest_.push_back(&arg);
    out_->stored++;
    return (rest_.empty() && event_.extras.empty()) || set_rest(kTable, row, flows::args);
  }

  bool take_metadata() {
    std::string args = "{";
    for (const TraceArg& arg : event_.args) {
      if (arg.raw[0] != '{' && arg.raw[0] != '[' && !is_json_scalar(arg.raw)) return false;
      args += (args.size() > 1 ? ",\"" : "\"") + std::string(arg.key) + "\":" + std::string(arg.raw);
    }
    out_->metadata.push_back({std::string(unquoted(event_.name)), SourceId::of_token(event_.process),
                              SourceId::of_token(event_.thread), args + "}"});
    out_->folded["metadata"]++;
    return true;
  }

  void finish() {
    for (size_t i = 0; i < phases_.size(); i++) {
      if (phases_[i] > 0) out_->by_phase[printable(static_cast<char>(i))] += phases_[i];
    }
    phases_.fill(0);
    for (const Category& c : categories_) {
      if (c.events == 0) continue;
      const bool none = c.text == kNull;
      out_->by_category[none ? "(none)" : std::string(batch_->strings[static_cast<size_t>(c.text)])] +=
          c.events;
    }
    if (last_.time_ns != kNull) {
      out_->last_event = {std::string(last_.process), std::string(last_.thread), last_.time_ns,
                          last_.correlation};
    }
    last_tracks_ = {};
    last_device_ = kNull;
  }

  static std::string printable(char c) {
    return c > ' ' && c < 127 ? std::string(1, c) : "0x" + std::to_string(static_cast<unsigned char>(c));
  }

  struct LastTrack {
    std::string_view process, thread;
    size_t number = SIZE_MAX;
  };

  const ArgTargets& targets_;
  model::BatchPool& pool_;
  JsonIndex index_;
  Interner strings_;
  TraceEvent event_;
  std::vector<const TraceArg*> rest_;
  std::vector<Category> categories_;
  std::unordered_map<std::string, size_t> track_numbers_;
  std::array<LastTrack, 2> last_tracks_;
  std::array<int64_t, 256> phases_{};
  std::string_view last_category_token_;
  size_t last_category_ = 0;
  LastEvent last_;
  int64_t correlation_ = kNull;
  bool valid_ids_ = true;
  int64_t last_device_ = kNull;
  ParsedWindow* out_ = nullptr;
  Batch* batch_ = nullptr;
};

// ---- In the order of the source
// -------------------------------------------------------------------------------------

template <class Map>
void add_counts(Map& to, const Map& from) {
  for (const auto& [key, n] : from) to[key] += n;
}

constexpr size_t kMaxKeptWindows = 10'000;
constexpr size_t kMaxCategories = 10'000;

class Settler {
 public:
  Settler(model::RunSink& sink, model::RunInfo& info) : sink_(sink), info_(info) {}

  Result<void> settle(ParsedWindow window) {
    for (const TrackKey& key : window.tracks) {
      NL_TRY(const int32_t id, tracks_.id_of(key));
      window.batch->track_ids.push_back(id);
    }
    for (const auto& metadata : window.metadata) NL_CHECK(tracks_.add_metadata(metadata));
    settle_flows(window);
    if (window.last_event) last_event_ = std::move(window.last_event);
    add_counts(info_.records_by_phase, window.by_phase);
    add_counts(info_.records_by_category, window.by_category);
    if (info_.records_by_category.size() > kMaxCategories) {
      return Error{ErrorCode::kLimit,
                   "the trace has more than " + std::to_string(kMaxCategories) + " categories"};
    }
    add_counts(info_.health, window.health);
    add_counts(info_.counts.folded, window.folded);
    add_counts(info_.counts.dropped, window.dropped);
    info_.counts.seen += window.seen;
    info_.counts.stored += window.stored;
    info_.windows_seen += static_cast<int64_t>(window.windows.size());
    for (auto& w : window.windows) {
      if (info_.windows.size() < kMaxKeptWindows) info_.windows.push_back(std::move(w));
    }
    devices_.merge(window.devices);
    min_start_ns_ = std::min(min_start_ns_, window.min_start_ns);
    has_nanoseconds_ = has_nanoseconds_ || window.has_nanoseconds;
    return sink_.push(std::move(window.batch));
  }

  Result<void> finish(const std::string& envelope_text) {
    const auto envelope = parse_small_json(envelope_text);
    if (!envelope.is_object()) {
      return Error{ErrorCode::kBadInput, "the JSON around \"traceEvents\" is not valid",
                   "the file is truncated or of another format"};
    }
    if (!envelope["traceEvents"].empty())
      return Error{ErrorCode::kBadInput, "the JSON has two \"traceEvents\""};
    if (info_.counts.seen == 0) {
      return Error{ErrorCode::kBadInput, "the trace has no events",
                   "the profiler recorded nothing: check that it was active while the model ran"};
    }
    describe(envelope);
    NL_TRY(auto batch, tracks_.write(info_.rank));
    return sink_.push(std::move(batch));
  }

 private:
  /// Drops the flows at the start of the window that repeat the last event of the windows before.
  void settle_flows(ParsedWindow& window) {
    if (window.open_flows.empty() || !last_event_) return;
    auto& rows = window.batch->rows(TableId::flows);
    std::vector<bool> keep(rows.size(), true);
    int64_t folded = 0;
    for (const OpenFlow& flow : window.open_flows) {
      keep[flow.row] = flow.key != *last_event_;
      folded += keep[flow.row] ? 0 : 1;
    }
    if (folded == 0) return;
    rows.filter(keep);
    window.stored -= folded;
    window.folded["flow_repeats_its_event"] += folded;
  }

  void describe(const nlohmann::json& envelope) {
    info_.backend = "pytorch";
    info_.tool = "kineto";
    describe_versions(envelope);
    describe_devices(envelope);
    describe_clock(envelope);
    for (const char* flag : {"record_shapes", "with_stack", "with_flops", "with_modules", "profile_memory"}) {
      if (envelope.contains(flag) && envelope[flag] == 1) info_.flags.emplace_back(flag);
    }
    if (envelope.contains("host_name") && envelope["host_name"].is_string()) {
      info_.hosts.push_back(envelope["host_name"]);
    }
    if (envelope.contains("distributedInfo") && envelope["distributedInfo"].is_object()) {
      const auto& distributed = envelope["distributedInfo"];
      info_.rank = small_int(distributed, "rank");
      info_.world_size = small_int(distributed, "world_size");
    }
    keep_extensions(envelope);
  }

  static std::optional<int32_t> small_int(const nlohmann::json& object, const char* key) {
    if (!object.contains(key) || !object[key].is_number_integer()) return std::nullopt;
    const auto value = object[key].get<int64_t>();
    if (value < 0 || value > INT32_MAX) return std::nullopt;
    return static_cast<int32_t>(value);
  }

  void describe_versions(const nlohmann::json& envelope) {
    for (const char* key : {"cuda_runtime_version", "cuda_driver_version"}) {
      if (const auto v = small_int(envelope, key)) {  // 12040 is 12.4
        info_.versions[key] = std::to_string(*v / 1000) + "." + std::to_string(*v % 1000 / 10);
      }
    }
    for (const char* key :
         {"cupti_version", "roctracer_version", "hip_runtime_version", "hip_driver_version"}) {
      if (envelope.contains(key) && envelope[key].is_number()) info_.versions[key] = envelope[key].dump();
    }
    const auto distributed = envelope.find("distributedInfo");
    if (distributed != envelope.end() && distributed->is_object() && distributed->contains("nccl_version") &&
        (*distributed)["nccl_version"].is_string()) {
      info_.versions["nccl_version"] = (*distributed)["nccl_version"];
    }
  }

  void describe_devices(const nlohmann::json& envelope) {
    const auto properties = envelope.find("deviceProperties");
    const bool listed = properties != envelope.end() && properties->is_array();
    if (listed) {
      for (const auto& p : *properties) {
        if (p.is_object() && info_.devices.size() < 4096) info_.devices.push_back(device_of(p));
      }
    }
    const size_t listed_devices = info_.devices.size();
    for (const int32_t number : devices_) {
      const auto same = [&](const model::Device& d) { return d.device == number; };
      const auto it = std::find_if(info_.devices.begin(), info_.devices.end(), same);
      if (it != info_.devices.end()) {
        it->active = true;
        continue;
      }
      // AMD numbers its agents otherwise; with one device listed there is no doubt which one is meant.
      model::Device device = listed_devices == 1 ? info_.devices[0] : model::Device{};
      device.device = number;
      device.active = true;
      info_.devices.push_back(device);
    }
    if (listed_devices == 1 && info_.devices.size() > 1 && !info_.devices[0].active) {
      info_.devices.erase(info_.devices.begin());
    }
    std::sort(info_.devices.begin(), info_.devices.end(),
              [](const auto& a, const auto& b) { return a.device < b.device; });
  }

  static model::Device device_of(const nlohmann::json& properties) {
    model::Device device;
    device.device = small_int(properties, "id").value_or(0);
    if (properties.contains("name") && properties["name"].is_string()) device.name = properties["name"];
    const auto integer = [&](const char* key) -> std::optional<int64_t> {
      if (!properties.contains(key) || !properties[key].is_number_integer()) return std::nullopt;
      return properties[key].get<int64_t>();
    };
    device.memory_bytes = integer("totalGlobalMem");
    device.multiprocessors = integer("numSms");
    const auto major = integer("computeMajor");
    const auto minor = integer("computeMinor");
    if (major && minor) device.compute_capability = std::to_string(*major) + "." + std::to_string(*minor);
    const auto has = [&](const char* key) { return properties.contains(key); };
    if (has("maxGridHeight")) {
      device.vendor = "Meta";
    } else if (has("maxSharedMemoryPerMultiProcessor") || device.name.starts_with("AMD")) {
      device.vendor = "AMD";
    } else if (has("regsPerMultiprocessor") || has("sharedMemPerBlockOptin")) {
      device.vendor = "NVIDIA";
    }
    return device;
  }

  void describe_clock(const nlohmann::json& envelope) {
    model::Clock clock;
    clock.resolution_ns = has_nanoseconds_ ? 1 : 1000;
    constexpr int64_t kYear2000 = 946'684'800'000'000'000;
    clock.kind = min_start_ns_ != INT64_MAX && min_start_ns_ >= kYear2000 ? "unix" : "relative";
    if (envelope.contains("baseTimeNanoseconds")) {
      const auto& base = envelope["baseTimeNanoseconds"];
      constexpr int64_t kLastBase = 4'000'000'000'000'000'000;
      const bool fits = base.is_number_integer() && base <= kLastBase && base >= -kLastBase;
      if (fits) {
        clock.kind = "unix";
        clock.base_unix_ns = base.get<int64_t>();
      } else {
        info_.health["bad_base_time"]++;
      }
    }
    info_.clocks.push_back(clock);
  }

  /// An allow-list: traces carry user names, job names and whole environments.
  void keep_extensions(const nlohmann::json& envelope) {
    static const std::set<std::string> kKept = {"schemaVersion", "trace_id", "displayTimeUnit",
                                                "distributedInfo", "traceName"};
    static const std::set<std::string> kElsewhere = {
        "traceEvents",         "deviceProperties",    "host_name",         "baseTimeNanoseconds",
        "record_shapes",       "with_stack",          "with_flops",        "with_modules",
        "profile_memory",      "cupti_version",       "roctracer_version", "cuda_runtime_version",
        "cuda_driver_version", "hip_runtime_version", "hip_driver_version"};
    nlohmann::json kept = nlohmann::json::object();
    nlohmann::json left_out = nlohmann::json::array();
    for (const auto& [key, value] : envelope.items()) {
      if (kKept.contains(key)) {
        kept[key] = value;
      } else if (!kElsewhere.contains(key) && left_out.size() < 1000) {
        left_out.push_back(key);
      }
    }
    if (!left_out.empty()) kept["left_out_keys"] = left_out;
    info_.extensions["kineto"] = std::move(kept);
  }

  model::RunSink& sink_;
  model::RunInfo& info_;
  TrackTable tracks_;
  std::optional<EventKey> last_event_;
  std::set<int32_t> devices_;
  int64_t min_start_ns_ = INT64_MAX;
  bool has_nanoseconds_ = false;
};

double sniff(std::string_view head, std::string_view) {
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || head[first] != '{') return 0;
  const auto has = [&](std::string_view text) { return head.find(text) != std::string_view::npos; };
  const bool events = has("\"traceEvents\"");
  for (const std::string_view own :
       {"\"deviceProperties\"", "\"distributedInfo\"", "\"baseTimeNanoseconds\"", "\"cpu_op\"",
        "\"cuda_runtime\"", "\"Trace iteration\"", "\"torch_profiler_kwargs\""}) {
    if (has(own)) return events ? 0.9 : 0.6;
  }
  return events && has("\"schemaVersion\"") ? 0.7 : 0;
}

Result<void> read(ByteSource& source, const ReadOptions& options, model::RunSink& sink,
                  model::RunInfo& info) {
  const ArgTargets targets;
  if (targets.collides()) return Error{ErrorCode::kInternal, "two known arguments share a slot"};
  JsonArrayLimits limits;
  limits.window_bytes = options.window_bytes;
  JsonArraySplitter splitter(source, "traceEvents", limits);
  Settler settler(sink, info);
  WindowStages<ParsedWindow> stages;
  model::BatchPool pool;
  stages.make_parser = [&targets, &pool] {
    auto parser = std::make_shared<WindowParser>(targets, pool);
    return [parser](JsonWindow& window) { return parser->parse(window); };
  };
  stages.settle = [&](ParsedWindow window) { return settler.settle(std::move(window)); };
  stages.cancelled = [&] {  // on the thread that reads the source
    options.progress(source);
    return options.cancelled();
  };
  WindowPipeline<ParsedWindow> pipeline(splitter, options.threads, std::move(stages));
  NL_CHECK(pipeline.run());
  return settler.finish(splitter.envelope());
}

}  // namespace

const Adapter& adapter_kineto() {
  static constexpr Adapter kAdapter{"kineto", 1,     "PyTorch/Kineto Chrome trace (.json, .json.gz)",
                                    "trace",  sniff, read};
  return kAdapter;
}

}  // namespace nl::ingest
