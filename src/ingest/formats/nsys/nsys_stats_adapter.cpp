// Reads tables of `nsys stats --format csv`, 2020 to 2025. A file holds one or several of them, with messages
// of the tool in between. Summaries become rows of summaries; traces become kernels, copies and calls. Sizes
// in a trace are megabytes with three decimals. That is too coarse for a column of bytes, so they are kept in
// the args as written. Several traces may contain the same kernels; these are stored only once.

#include <algorithm>
#include <limits>
#include <set>

#include "base/decimal.h"
#include "base/text.h"
#include "ingest/adapter.h"
#include "ingest/formats/nsys/nsys_report.h"
#include "ingest/process_tracks.h"
#include "ingest/row_loop.h"
#include "ingest/rows/number_style.h"
#include "ingest/rows/row_writer.h"
#include "ingest/source/csv_reader.h"

namespace nl::ingest::nsys_stats_adapter {
namespace {

using model::kNull;
using model::TableId;
using enum NsysColumn;
namespace summaries = model::summaries;
namespace kernels = model::kernels;
namespace copies = model::copies;
namespace spans = model::spans;
namespace tracks = model::tracks;
using Fields = std::vector<std::string_view>;

constexpr std::string_view kStats = "stats";
constexpr int64_t kLongestNs = 1'000'000'000'000'000'000;
constexpr size_t kMaxTracks = 1 << 16;
constexpr size_t kMaxSkipped = 64;

std::optional<int64_t> whole(std::string_view text) {
  const PrintedNumber number = read_number(text, DecimalSign::kPoint);
  int64_t value = 0;
  if (number.kind != PrintedNumber::Kind::kNumber) return std::nullopt;
  if (parse_decimal(number.decimal, 0, value) != DecimalParse::kExact) return std::nullopt;
  return value;
}

bool is_number(std::string_view text) {
  return read_number(text, DecimalSign::kPoint).kind == PrintedNumber::Kind::kNumber;
}

bool is_absent(std::string_view text) {
  return read_number(text, DecimalSign::kPoint).kind == PrintedNumber::Kind::kAbsent;
}

/// "NVIDIA A100 (0)": the name and the number; one of them may be missing.
struct DeviceText {
  std::string name;
  std::optional<int64_t> number;
};

DeviceText device_of(std::string_view text) {
  text = trimmed(text);
  if (const auto number = whole(text)) return {"", number};
  const size_t open = text.ends_with(')') ? text.rfind('(') : std::string_view::npos;
  if (open == std::string_view::npos) return {std::string(text), std::nullopt};
  const auto number = whole(text.substr(open + 1, text.size() - open - 2));
  return {std::string(number ? trimmed(text.substr(0, open)) : text), number};
}

/// "   8    1    1" without the padding.
std::string unpadded(std::string_view text) {
  std::string out;
  for (const char c : trimmed(text)) {
    if (c != ' ' || out.back() != ' ') out += c;
  }
  return out;
}

class Stats {
 public:
  static bool may_be_header(std::string_view head) {
    if (head.starts_with('"')) head.remove_prefix(1);
    for (const std::string_view start : {"Time", "Total", "Start", "API Start", "NVTX Range", "Count"}) {
      if (head.starts_with(start)) return true;
    }
    return false;
  }

  Stats(CsvReader& reader, std::string_view role, model::RunSink& sink, model::RunInfo& info)
      : reader_(reader), role_(role), writer_(sink, info), info_(info) {}

  /// False at the end of the input.
  Result<bool> next() {
    NL_TRY(const std::string_view head, reader_.peek(16));
    if (in_table_ && may_be_row(head)) return take_row();
    in_table_ = false;
    if (may_be_header(head)) return take_header();
    std::string_view line;
    NL_TRY(const bool found, reader_.next_line(line));
    if (found) take_chatter(line);
    return found;
  }

  Result<void> finish() {
    info_.backend = "cuda";
    info_.tool = "nsys";
    if (reports_.empty()) {
      return Error{ErrorCode::kBadInput, "the file has no table of nsys stats",
                   "write it with: nsys stats --format csv REPORT"};
    }
    for (const auto& name : reports_) info_.extensions["nsys_stats"]["reports"].push_back(name);
    if (!skipped_.empty()) info_.extensions["nsys_stats"]["skipped"] = skipped_;
    if (!track_rows_.empty()) {
      model::Clock clock;
      clock.kind = "relative";
      info_.clocks.push_back(clock);
    }
    write_tracks();
    return writer_.flush();
  }

 private:
  /// A blank line ends a table.
  static bool may_be_row(std::string_view head) {
    return !head.empty() && head[0] != '\n' && head[0] != '\r' && !head.starts_with("Processing [") &&
           !head.starts_with("SKIPPED");
  }
  Result<bool> take_header() {
    NL_TRY(const bool found, reader_.next_row(fields_));
    if (!found) return false;
    if (is_nsys_header(fields_)) {
      start_table();
    } else {
      take_chatter(fields_[0]);
    }
    return true;
  }

  /// Decides which report a table is. What the tool itself wrote before the table counts most, then the
  /// header. Summaries of calls and of ranges have the same header whatever they sum up; there the role of
  /// the file decides.
  void start_table() {
    report_ = nsys_report(fields_);
    const bool is_vague = report_.name.empty() || report_.name.starts_with("nvtx");
    if (report_.kind == NsysKind::kSummary && !told_name_.empty()) {
      report_.name = told_name_;
    } else if (report_.kind == NsysKind::kSummary && is_vague && role_ != kStats) {
      report_.name = role_;
    }
    told_name_.clear();
    in_table_ = true;
    if (!report_.name.empty()) start_report();
  }

  void start_report() {
    reports_.insert(report_.name);
    const bool has_kernels = report_.kind == NsysKind::kDeviceTrace || report_.kind == NsysKind::kLaunchTrace;
    if (has_kernels && kernel_report_.empty()) kernel_report_ = report_.name;
    has_launches_ = has_launches_ || report_.kind == NsysKind::kLaunchTrace;
    has_calls_ = has_calls_ || report_.kind == NsysKind::kCallTrace;
  }

  bool is_memory_work() const {
    return field(kName).starts_with("[CUDA mem") || field(kName).starts_with("[CUDA Unified Memory");
  }

  /// True for a kernel, or the launch of one, that another trace of the file contains already.
  bool repeats() const {
    if (report_.kind == NsysKind::kCallTrace) return has_launches_ && has_part(field(kName), "Launch");
    const bool has_kernels = report_.kind == NsysKind::kDeviceTrace || report_.kind == NsysKind::kLaunchTrace;
    return has_kernels && kernel_report_ != report_.name && !is_memory_work();
  }

  void take_chatter(std::string_view line) {
    line = trimmed(line);
    if (line.empty()) return;
    const bool names_report = line.starts_with("Processing [") || line.starts_with("**");
    if (names_report) told_name_ = nsys_report_name(line.substr(line.find_last_of("[(*")));
    if (line.starts_with("SKIPPED") && skipped_.size() < kMaxSkipped) {
      skipped_.push_back(told_name_);
      told_name_.clear();
    }
  }

  // ---- Rows

  Result<bool> take_row() {
    NL_TRY(const bool found, reader_.next_row(fields_));
    if (!found) return false;
    if (is_nsys_header(fields_)) {
      start_table();
      return true;
    }
    const bool starts_with_number = report_.columns[0].meaning != kOther;
    if (starts_with_number && !is_number(fields_[0]) && fields_.size() < report_.columns.size()) {
      in_table_ = false;
      take_chatter(fields_[0]);
      return true;
    }
    if (report_.name.empty() && fields_.size() >= report_.columns.size()) name_by_row();
    info_.counts.seen++;
    if (fields_.size() < report_.columns.size()) {
      info_.counts.dropped[reader_.was_ended() ? "short_row" : "cut_off"]++;
      return true;
    }
    NL_CHECK(store_row());
    NL_CHECK(writer_.flush_if_large());
    return true;
  }

  /// A summary of calls without a name: CUDA calls begin with "cuda", or with "cu" and a capital letter.
  void name_by_row() {
    const std::string_view name = field(kName);
    const bool is_cuda = name.starts_with("cuda") ||
                         (name.size() > 2 && name.starts_with("cu") && name[2] >= 'A' && name[2] <= 'Z');
    report_.name = is_cuda ? "cuda_api_sum" : "osrt_sum";
    start_report();
  }

  Result<void> store_row() {
    if (repeats()) {
      info_.counts.folded["repeats_another_report"]++;
      return {};
    }
    const bool is_timed = report_.kind != NsysKind::kSummary;
    if (is_timed && (ns(kStart) == kNull || ns(kDuration) == kNull)) {
      info_.counts.dropped["no_time"]++;
      return {};
    }
    args_.clear();
    info_.records_by_category[report_.name]++;
    switch (report_.kind) {
      case NsysKind::kSummary:
        store_summary();
        break;
      case NsysKind::kDeviceTrace:
        NL_CHECK(store_device_work());
        break;
      case NsysKind::kLaunchTrace:
        NL_CHECK(store_launch());
        break;
      case NsysKind::kCallTrace:
        NL_CHECK(store_span(model::SpanKind::runtime, kStart, kDuration, kName, whole(field(kCorrelation))));
        break;
      case NsysKind::kRangeTrace:
        NL_CHECK(store_span(model::SpanKind::annotation, kStart, kDuration, kName, {}));
        break;
    }
    info_.counts.stored++;
    return {};
  }

  std::string_view field(NsysColumn meaning) const {
    const size_t i = report_.find(meaning);
    return i < report_.columns.size() ? trimmed(fields_[i]) : std::string_view();
  }

  /// kNull if absent or no time.
  int64_t ns(NsysColumn meaning) {
    const size_t i = report_.find(meaning);
    if (i == report_.columns.size()) return kNull;
    const PrintedNumber number = read_number(fields_[i], DecimalSign::kPoint);
    if (number.kind != PrintedNumber::Kind::kNumber || report_.columns[i].unit.unit != "ns") return kNull;
    int64_t value = 0;
    const auto parsed = parse_decimal(number.decimal, report_.columns[i].unit.exponent, value);
    if (parsed == DecimalParse::kBad || value > kLongestNs || value < -kLongestNs) return kNull;
    return value;
  }

  /// Keeps the columns that have no meaning here in the args of the row.
  void keep_others() {
    for (size_t i = 0; i < report_.columns.size(); i++) {
      const auto& column = report_.columns[i];
      if (column.meaning != kOther || is_absent(fields_[i])) continue;
      args_[column.name] =
          std::string(trimmed(fields_[i])) + (column.unit_text.empty() ? "" : " " + column.unit_text);
    }
  }

  // ---- Sums

  void store_summary() {
    constexpr auto kTable = TableId::summaries;
    const size_t row = writer_.add(kTable);
    writer_.set_text(kTable, row, summaries::report, report_.name);
    writer_.set_text(kTable, row, summaries::name, field(kName));
    writer_.set_text(kTable, row, summaries::style, field(kStyle));
    writer_.set_text(kTable, row, summaries::grid, unpadded(field(kGrid)));
    writer_.set_text(kTable, row, summaries::block, unpadded(field(kBlock)));
    writer_.set(kTable, row, summaries::calls, whole(field(kCalls)).value_or(kNull));
    if (const size_t total = report_.find(kTotal); total < report_.columns.size())
      writer_.set_text(kTable, row, summaries::unit, report_.columns[total].unit.unit);
    for (const auto& [meaning, column] :
         {std::pair{kTotal, int{summaries::total}}, std::pair{kAverage, int{summaries::average}},
          std::pair{kMedian, int{summaries::median}}, std::pair{kMinimum, int{summaries::minimum}},
          std::pair{kMaximum, int{summaries::maximum}}, std::pair{kDeviation, int{summaries::deviation}},
          std::pair{kShare, int{summaries::share_pct}}}) {
      set_value(row, meaning, column);
    }
    keep_others();
    writer_.set_args(kTable, row, summaries::args, args_);
  }

  void set_value(size_t row, NsysColumn meaning, int column) {
    const size_t i = report_.find(meaning);
    if (i == report_.columns.size()) return;
    const PrintedNumber number = read_number(fields_[i], DecimalSign::kPoint);
    if (number.kind == PrintedNumber::Kind::kNumber) {
      if (const auto value = scaled_double(number.decimal, report_.columns[i].unit.exponent)) {
        writer_.set_double(TableId::summaries, row, column, *value * report_.columns[i].factor);
        return;
      }
    }
    if (number.kind != PrintedNumber::Kind::kAbsent)
      args_[report_.columns[i].name] = std::string(trimmed(fields_[i]));
  }

  // ---- Traces

  Result<int32_t> track(const ProcessTrack& key) {
    const auto [it, is_new] = track_ids_.try_emplace(key, static_cast<int32_t>(track_rows_.size()));
    if (!is_new) return it->second;
    if (track_rows_.size() >= kMaxTracks)
      return Error{ErrorCode::kLimit, "the trace has too many streams and threads"};
    track_rows_.push_back(key);
    return it->second;
  }

  void set_small(TableId table, size_t row, int column, NsysColumn meaning) {
    const auto value = whole(field(meaning));
    const bool fits = value && *value >= 0 && *value <= std::numeric_limits<int32_t>::max();
    if (fits) writer_.set(table, row, column, *value);
  }

  void note_device(const DeviceText& device) {
    if (!device.number || *device.number < 0 || *device.number > 4096) return;
    const auto number = static_cast<int32_t>(*device.number);
    for (const auto& known : info_.devices) {
      if (known.device == number) return;
    }
    info_.devices.push_back(
        {.device = number, .name = repaired_utf8(device.name), .vendor = "NVIDIA", .active = true});
  }

  Result<void> store_device_work() {
    const std::string_view name = field(kName);
    const bool is_memory = is_memory_work();
    const DeviceText device = device_of(field(kDevice));
    note_device(device);
    NL_TRY(const int32_t on, track({true, device.number, whole(field(kStream))}));
    const auto table = is_memory ? TableId::copies : TableId::kernels;
    const size_t row = writer_.add(table);
    writer_.set_track(table, row, is_memory ? int{copies::track_id} : int{kernels::track_id}, on);
    keep_others();
    keep_bytes();
    if (is_memory) {
      set_copy(row, name, device);
    } else {
      set_kernel(row, name, device.number);
    }
    return {};
  }

  /// Sets the column of bytes only if the value is exact, that is, if the unit is a byte.
  void keep_bytes() {
    const size_t i = report_.find(kBytes);
    if (i == report_.columns.size() || is_absent(fields_[i])) return;
    args_[report_.columns[i].name] = std::string(trimmed(fields_[i])) + " " + report_.columns[i].unit_text;
    const bool exact = report_.columns[i].unit.exponent == 0 && report_.columns[i].factor == 1;
    if (!exact) info_.health["rounded_bytes"]++;
    if (exact && report_.columns[i].unit.unit == "B") bytes_ = whole(fields_[i]);
  }

  void set_copy(size_t row, std::string_view name, const DeviceText& device) {
    constexpr auto kTable = TableId::copies;
    writer_.set_text(kTable, row, copies::name, name);
    writer_.set_text(kTable, row, copies::kind, has_part(name, "memset") ? "memset" : "memcpy");
    if (device.number) set_device(kTable, row, copies::device, *device.number);
    writer_.set(kTable, row, copies::stream, whole(field(kStream)).value_or(kNull));
    writer_.set(kTable, row, copies::start_ns, ns(kStart));
    writer_.set(kTable, row, copies::dur_ns, ns(kDuration));
    writer_.set(kTable, row, copies::correlation_id, whole(field(kCorrelation)).value_or(kNull));
    set_small(kTable, row, copies::context_id, kContext);
    writer_.set(kTable, row, copies::bytes, bytes_.value_or(kNull));
    bytes_.reset();
    set_bandwidth(row);
    writer_.set_args(kTable, row, copies::args, args_);
  }

  void set_device(TableId table, size_t row, int column, int64_t number) {
    if (number >= 0 && number <= std::numeric_limits<int32_t>::max()) writer_.set(table, row, column, number);
  }

  void set_bandwidth(size_t row) {
    const size_t i = report_.find(kThroughput);
    if (i == report_.columns.size() || !is_number(fields_[i])) return;
    const std::string unit = lower(report_.columns[i].unit_text);
    const int exponent = unit == "mbps" || unit == "mb/s" ? -3 : unit == "gbps" || unit == "gb/s" ? 0 : 1;
    const auto value = scaled_double(read_number(fields_[i], DecimalSign::kPoint).decimal, exponent);
    if (exponent <= 0 && value) writer_.set_double(TableId::copies, row, copies::bandwidth_gb_per_s, *value);
  }

  void set_kernel(size_t row, std::string_view name, const std::optional<int64_t>& device) {
    constexpr auto kTable = TableId::kernels;
    bytes_.reset();
    writer_.set_text(kTable, row, kernels::name, name);
    if (device) set_device(kTable, row, kernels::device, *device);
    writer_.set(kTable, row, kernels::stream, whole(field(kStream)).value_or(kNull));
    writer_.set(kTable, row, kernels::start_ns, ns(kStart));
    writer_.set(kTable, row, kernels::dur_ns, ns(kDuration));
    writer_.set(kTable, row, kernels::correlation_id, whole(field(kCorrelation)).value_or(kNull));
    set_small(kTable, row, kernels::context_id, kContext);
    set_small(kTable, row, kernels::registers_per_thread, kRegisters);
    set_small(kTable, row, kernels::grid_x, kGridX);
    set_small(kTable, row, kernels::grid_y, kGridY);
    set_small(kTable, row, kernels::grid_z, kGridZ);
    set_small(kTable, row, kernels::block_x, kBlockX);
    set_small(kTable, row, kernels::block_y, kBlockY);
    set_small(kTable, row, kernels::block_z, kBlockZ);
    writer_.set_args(kTable, row, kernels::args, args_);
  }

  /// A row has both a call and its kernel, but no correlation id. They get a negative one of our own, which
  /// no source uses. The call is left out if the file also has a trace of calls.
  Result<void> store_launch() {
    const DeviceText device = device_of(field(kDevice));
    note_device(device);
    NL_TRY(const int32_t on, track({true, device.number, {}}));
    const size_t row = writer_.add(TableId::kernels);
    writer_.set_track(TableId::kernels, row, kernels::track_id, on);
    keep_others();
    for (const NsysColumn dimensions : {kGrid, kBlock}) {
      const size_t i = report_.find(dimensions);
      if (i < report_.columns.size() && !is_absent(fields_[i]))
        args_[report_.columns[i].name] = unpadded(fields_[i]);
    }
    set_kernel(row, field(kName), device.number);
    args_.clear();
    if (ns(kCallStart) == kNull || has_calls_) return {};
    launches_++;
    writer_.set(TableId::kernels, row, kernels::correlation_id, -launches_);
    return store_span(model::SpanKind::runtime, kCallStart, kCallDuration, kCallName, -launches_);
  }

  Result<void> store_span(model::SpanKind kind, NsysColumn start, NsysColumn duration, NsysColumn name,
                          const std::optional<int64_t>& correlation) {
    constexpr auto kTable = TableId::spans;
    NL_TRY(const int32_t on, track({false, whole(field(kProcess)), whole(field(kThread))}));
    const size_t row = writer_.add(kTable);
    writer_.set_track(kTable, row, spans::track_id, on);
    writer_.set_text(kTable, row, spans::name, field(name));
    writer_.set(kTable, row, spans::kind, static_cast<int64_t>(kind));
    writer_.set(kTable, row, spans::start_ns, ns(start));
    writer_.set(kTable, row, spans::dur_ns, ns(duration));
    writer_.set(kTable, row, spans::correlation_id, correlation.value_or(kNull));
    if (report_.kind != NsysKind::kLaunchTrace) {
      keep_others();
      writer_.set_args(kTable, row, spans::args, args_);
    }
    return {};
  }

  void write_tracks() {
    constexpr auto kTable = TableId::tracks;
    for (const ProcessTrack& key : track_rows_) {
      const size_t row = writer_.add(kTable);
      writer_.set_text(kTable, row, tracks::kind, key.is_stream ? "stream" : "thread");
      writer_.set(kTable, row, tracks::process_id, key.first.value_or(kNull));
      writer_.set(kTable, row, tracks::thread_id, key.second.value_or(kNull));
      writer_.set(kTable, row, tracks::clock_id, 0);
      if (!key.is_stream) continue;
      if (key.first) set_device(kTable, row, tracks::device, *key.first);
      writer_.set(kTable, row, tracks::stream, key.second.value_or(kNull));
    }
  }

  CsvReader& reader_;
  std::string_view role_;
  RowWriter writer_;
  model::RunInfo& info_;
  Fields fields_ = {};
  NsysReport report_ = {};
  bool in_table_ = false;
  bool has_launches_ = false;
  bool has_calls_ = false;
  std::string told_name_ = {};
  std::string kernel_report_ = {};
  std::set<std::string> reports_ = {};
  std::vector<std::string> skipped_ = {};
  std::map<ProcessTrack, int32_t> track_ids_ = {};
  std::vector<ProcessTrack> track_rows_ = {};
  std::map<std::string, std::string> args_ = {};
  std::optional<int64_t> bytes_ = {};
  int64_t launches_ = 0;
};

// ---- Which file it is

/// The role of a file that may be part of a run. Two traces of the same kernels have the same role, since a
/// run with both of them would contain each kernel twice.
std::string_view role_of(const NsysReport& report, std::string_view file_name) {
  if (report.kind == NsysKind::kDeviceTrace || report.kind == NsysKind::kLaunchTrace) return "cuda_gpu_trace";
  if (report.kind == NsysKind::kCallTrace) return "cuda_api_trace";
  if (report.kind == NsysKind::kRangeTrace) return "nvtx_pushpop_trace";
  if (const auto by_file = nsys_report_name(file_name); !by_file.empty()) return by_file;
  return report.name.empty() ? kStats : nsys_report_name(report.name);
}

/// The text tables for people, whose numbers are shortened. They are only recognised to be refused.
bool has_column_table(std::string_view head) {
  return has_part(head, "Time (%)  Total Time (ns)") || has_part(head, "Time(%)  Total Time (ns)");
}

Sniffed sniff(std::string_view head, std::string_view file_name) {
  head = without_byte_order_mark(head);
  std::vector<NsysReport> found;
  for (std::string_view rest = head; !rest.empty() && found.size() < 2;) {
    const size_t end = rest.find('\n');
    const std::string_view line = trimmed(rest.substr(0, end));
    if (line.size() < 4096 && Stats::may_be_header(line)) {
      const Fields fields = header_fields(line);
      if (is_nsys_header(fields)) found.push_back(nsys_report(fields));
    }
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  if (found.size() == 1) return {0.9, role_of(found[0], file_name)};
  if (found.size() > 1) return {0.9, kStats};
  return {has_column_table(head) ? 0.5 : 0};
}

Result<void> read(ByteSource& source, const ReadOptions& options, model::RunSink& sink,
                  model::RunInfo& info) {
  CsvReader reader(source, {.chunk_bytes = options.window_bytes});
  Stats stats(reader, options.role.empty() ? kStats : options.role, sink, info);
  NL_CHECK(for_each_row(source, options, [&] { return stats.next(); }));
  if (!reader.was_ended()) info.health["no_line_end"] = 1;
  return stats.finish();
}

constexpr std::string_view kPartWords[] = {
    "apigpusum",   "cudaapisum",    "gpukernsum", "gpumemsizesum", "gpumemtimesum", "gpusum",  "gputrace",
    "kernexecsum", "kernexectrace", "nvtxsum",    "nvtxppsum",     "nvtxpptrace",   "osrtsum", "cuda",
    "api",         "gpu",           "kern",       "mem",           "size",          "time",    "sum",
    "trace",       "nvtx",          "osrt",       "exec",          "pushpop",       "stats"};

}  // namespace

const Adapter& adapter() {
  static constexpr Adapter kAdapter{
      "nsys-stats", 1, "Nsight Systems: tables of nsys stats (.csv)", kStats, kPartWords, sniff, read};
  return kAdapter;
}

}  // namespace nl::ingest::nsys_stats_adapter
