// Time series of devices: `nvidia-smi --query-gpu=... --format=csv`, with and without units, and the tables
// of `nvidia-smi dmon` and `dcgmi dmon`. One track per device; each counter of a sample is one row. Column
// names alone are not trusted: of the columns that could name the device, the one whose values differ between
// rows of the same time is taken.

#include <algorithm>
#include <set>

#include "base/decimal.h"
#include "base/text.h"
#include "ingest/adapter.h"
#include "ingest/row_loop.h"
#include "ingest/rows/metric_unit.h"
#include "ingest/rows/number_style.h"
#include "ingest/rows/row_writer.h"
#include "ingest/rows/wall_clock.h"
#include "ingest/source/csv_reader.h"

namespace nl::ingest::telemetry_adapter {
namespace {

using model::kNull;
using model::TableId;
using Kind = PrintedNumber::Kind;
namespace counters = model::counters;
namespace tracks = model::tracks;
using Fields = std::vector<std::string_view>;

constexpr size_t kMaxDevices = 4096;
constexpr size_t kMaxColumns = 512;

// ---- Units

struct Unit {
  std::string name;
  int exponent = 0;
  double factor = 1;
};

struct NamedUnit {
  std::string_view name;
  std::string_view base;
  int exponent;
  double factor;
};

constexpr double kKibi = 1024;
constexpr NamedUnit kUnits[] = {
    {"%", "%", 0, 1},       {"W", "W", 0, 1},
    {"mW", "W", -3, 1},     {"C", "C", 0, 1},
    {"MHz", "Hz", 6, 1},    {"MiB", "B", 0, kKibi* kKibi},
    {"KiB", "B", 0, kKibi}, {"GiB", "B", 0, kKibi* kKibi* kKibi},
    {"MB", "B", 6, 1},      {"MB/s", "B/s", 6, 1},
    {"KB/s", "B/s", 3, 1},  {"GB/s", "B/s", 9, 1},
    {"us", "ns", 3, 1},     {"ms", "ns", 6, 1},
    {"s", "ns", 9, 1},      {"mJ", "J", -3, 1},
    {"J", "J", 0, 1},       {"RPM", "1/min", 0, 1},
    {"mV", "V", -3, 1},
};

Unit unit_of(std::string_view name) {
  for (const NamedUnit& unit : kUnits) {
    if (unit.name == name) return {std::string(unit.base), unit.exponent, unit.factor};
  }
  return {std::string(name), 0, 1};
}

/// Units that nvidia-smi and DCGM document for their fields. They are used if neither header nor cell has a
/// unit.
struct FieldUnit {
  std::string_view start;
  std::string_view unit;
};

constexpr FieldUnit kFieldUnits[] = {
    {"power.", "W"},        {"enforced.power", "W"}, {"memory.", "MiB"}, {"bar1.memory.", "MiB"},
    {"temperature.", "C"},  {"utilization.", "%"},   {"clocks.", "MHz"}, {"fan.speed", "%"},
    {"encoder.stats.", ""}, {"GRACT", ""},           {"SMACT", ""},      {"SMOCC", ""},
    {"TENSO", ""},          {"DRAMA", ""},           {"FP64A", ""},      {"FP32A", ""},
    {"FP16A", ""},          {"POWER", "W"},          {"TMPTR", "C"},     {"GPUTL", "%"},
    {"MCUTL", "%"},         {"FBUSD", "MiB"},        {"FBFRE", "MiB"},   {"SMCLK", "MHz"},
    {"MMCLK", "MHz"},
};

std::optional<std::string_view> documented_unit(std::string_view field) {
  for (const FieldUnit& known : kFieldUnits) {
    if (field.starts_with(known.start)) return known.unit;
  }
  return std::nullopt;
}

// ---- Columns

enum class Role { kCounter, kTime, kDate, kIndex, kName, kDriver, kLeftOut };

struct Column {
  Role role = Role::kCounter;
  std::string name = {};
  std::optional<Unit> unit = {};
};

bool one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

/// Serial numbers, addresses and processes identify machines and people, so they are left out.
Role role_of(std::string_view name) {
  if (one_of(name, {"timestamp", "time", "datetime"})) return Role::kTime;
  if (name == "date") return Role::kDate;
  if (one_of(name, {"index", "gpu", "gpu_id", "device"})) return Role::kIndex;
  if (one_of(name, {"name", "gpu_name"})) return Role::kName;
  if (name == "driver_version") return Role::kDriver;
  const bool is_private = name.starts_with("pci.") || has_part(name, "uuid") || has_part(name, "serial") ||
                          name == "gpu_bus_id" || has_part(name, "process") || name == "pid" ||
                          name == "used_gpu_memory";
  return is_private ? Role::kLeftOut : Role::kCounter;
}

/// "power.draw [W]"
Column column_of(std::string_view text) {
  text = trimmed(text);
  Column column;
  const size_t open = text.ends_with(']') ? text.rfind('[') : std::string_view::npos;
  column.name = trimmed(text.substr(0, open));
  column.role = role_of(lower(column.name));
  if (open != std::string_view::npos) {
    column.unit = unit_of(text.substr(open + 1, text.size() - open - 2));
  } else if (const auto unit = documented_unit(column.name)) {
    column.unit = unit_of(*unit);
  }
  return column;
}

bool is_query_field(std::string_view name) {
  constexpr std::string_view kStarts[] = {"power.",       "utilization.",    "memory.",
                                          "temperature.", "clocks.",         "fan.speed",
                                          "pstate",       "clocks_throttle", "clocks_event"};
  return std::any_of(std::begin(kStarts), std::end(kStarts),
                     [&](auto start) { return name.starts_with(start); });
}

bool is_query_header(const Fields& fields) {
  if (fields.size() < 2 || fields.size() > kMaxColumns) return false;
  int known = 0;
  bool has_time = false;
  for (const auto field : fields) {
    const Column column = column_of(field);
    known += is_query_field(column.name) ? 1 : 0;
    has_time = has_time || column.role == Role::kTime;
  }
  return known >= 2 || (known == 1 && has_time);
}

Fields split_blanks(std::string_view line) {
  Fields words;
  for (size_t at = line.find_first_not_of(" \t\r");
       at != std::string_view::npos && words.size() <= kMaxColumns;) {
    const size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(" \t\r", end);
  }
  return words;
}

Fields split_commas(std::string_view line) {
  Fields fields;
  for (;;) {
    const size_t comma = line.find(',');
    fields.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos || fields.size() > kMaxColumns) return fields;
    line.remove_prefix(comma + 1);
  }
}

enum class Form { kNone, kQuery, kDmon, kDcgm };

/// The table that a line is the header of.
Form form_of(std::string_view line) {
  line = trimmed(line);
  if (line.starts_with('#')) {
    const Fields words = split_blanks(line.substr(1));
    if (words.empty()) return Form::kNone;
    if (words[0] == "Entity") return Form::kDcgm;
    const bool has_gpu = std::find(words.begin(), words.end(), "gpu") != words.end();
    return has_gpu && words.size() > 1 ? Form::kDmon : Form::kNone;
  }
  return line.find(',') != std::string_view::npos && is_query_header(split_commas(line)) ? Form::kQuery
                                                                                         : Form::kNone;
}

// ---- Rows

class Telemetry {
 public:
  Telemetry(CsvReader& reader, model::RunSink& sink, model::RunInfo& info)
      : reader_(reader), writer_(sink, info), info_(info) {}

  /// Names of the columns that tell devices apart in the first rows of the text; empty if none does.
  void set_device_columns(std::vector<std::string> names) { device_columns_ = std::move(names); }

  Result<bool> next() {
    NL_TRY(const std::string_view head, reader_.peek(1));
    if (form_ == Form::kQuery && is_row_start(head)) {
      NL_TRY(const bool found, reader_.next_row(fields_));
      if (found) NL_CHECK(take_query_row());
      return found;
    }
    std::string_view line;
    NL_TRY(const bool found, reader_.next_line(line));
    if (found) NL_CHECK(take_line(line));
    return found;
  }

  Result<void> finish() {
    info_.tool = form_ == Form::kDcgm ? "dcgmi" : "nvidia-smi";
    if (info_.counts.seen == 0)
      return Error{ErrorCode::kBadInput, "the file has no sample",
                   "write it with: nvidia-smi --query-gpu=timestamp,index,utilization.gpu,power.draw "
                   "--format=csv -l 1"};
    model::Clock clock;
    clock.kind = has_zone_ ? "unix" : "relative";
    clock.resolution_ns = resolution_ns_;
    info_.clocks.push_back(clock);
    if (!has_zone_ && first_ns_) info_.health["time_zone_unknown"] = 1;
    write_tracks();
    return writer_.flush();
  }

 private:
  static bool is_row_start(std::string_view head) {
    return !head.empty() && (head[0] == '"' || (head[0] >= '0' && head[0] <= '9'));
  }

  Result<void> take_line(std::string_view line) {
    if (const Form form = form_of(line); form != Form::kNone) {
      start_table(form, line);
      return {};
    }
    line = trimmed(line);
    if (line.empty()) return {};
    if (form_ == Form::kDmon && line.starts_with('#')) {
      set_units(split_blanks(line.substr(1)));
      return {};
    }
    if (form_ == Form::kDcgm && (line == "ID" || line == "Id")) return {};
    if (form_ == Form::kDmon || form_ == Form::kDcgm) return take_words(line);
    if (form_ != Form::kNone) {  // the query goes on with rows that begin with a word
      fields_ = split_commas(line);
      if (fields_.size() == columns_.size()) return take_query_row();
    }
    count_foreign_line();
    return {};
  }

  /// Neither a table nor a row of one.
  void count_foreign_line() {
    auto& lines = info_.extensions["telemetry"]["foreign_lines"];
    lines = lines.is_null() ? 1 : lines.get<int64_t>() + 1;
  }

  void start_table(Form form, std::string_view line) {
    form_ = form;
    columns_.clear();
    const std::string_view text = trimmed(line);
    const Fields names = form == Form::kQuery ? split_commas(text) : split_blanks(text.substr(1));
    for (std::string_view name : names) {
      if (name.size() > 1 && name.starts_with('"') && name.ends_with('"'))
        name = name.substr(1, name.size() - 2);
      columns_.push_back(column_of(name));
    }
    if (form == Form::kDcgm) columns_[0].role = Role::kIndex;
    if (form == Form::kQuery) believe_columns();
    for (const Column& column : columns_) {
      if (column.role == Role::kLeftOut) left_out(column.name);
    }
  }

  /// Several columns may look like the number of the device. The first one that tells devices apart is taken;
  /// the others are ordinary counters.
  void believe_columns() {
    bool found = false;
    for (Column& column : columns_) {
      if (column.role != Role::kIndex) continue;
      const bool tells = device_columns_.empty() || std::find(device_columns_.begin(), device_columns_.end(),
                                                              column.name) != device_columns_.end();
      if (tells && !found) {
        found = true;
        continue;
      }
      column.role = Role::kCounter;
      if (!tells) info_.health["column_tells_no_device"]++;
    }
  }

  void left_out(const std::string& name) {
    auto& names = info_.extensions["telemetry"]["left_out_columns"];
    const std::string text = repaired_utf8(name);
    const auto is_it = [&](const nlohmann::json& known) {
      return known.get_ref<const std::string&>() == text;
    };
    if (std::none_of(names.begin(), names.end(), is_it)) names.push_back(text);
  }

  void set_units(const Fields& words) {
    for (size_t i = 0; i < std::min(words.size(), columns_.size()); i++) {
      if (columns_[i].role == Role::kCounter) columns_[i].unit = unit_of(words[i]);
    }
  }

  Result<void> take_query_row() {
    info_.counts.seen++;
    if (fields_.size() < columns_.size()) {
      info_.counts.dropped[reader_.was_ended() ? "short_row" : "cut_off"]++;
      return {};
    }
    if (fields_.size() > columns_.size()) info_.health["long_row"]++;
    return take_sample();
  }

  /// A row of a table whose columns are separated by blanks. dcgmi writes the device as two words: GPU 0.
  Result<void> take_words(std::string_view line) {
    Fields words = split_blanks(line);
    if (form_ == Form::kDcgm && words.size() > 1 && words[0] == "GPU") words.erase(words.begin());
    const bool is_row = !words.empty() && words[0].find_first_not_of("0123456789") == std::string_view::npos;
    if (!is_row) {
      count_foreign_line();
      return {};
    }
    info_.counts.seen++;
    if (words.size() < columns_.size()) {
      info_.counts.dropped[reader_.was_ended() ? "short_row" : "cut_off"]++;
      return {};
    }
    fields_ = std::move(words);
    return take_sample();
  }

  std::string_view field(Role role) const {
    for (size_t i = 0; i < columns_.size(); i++) {
      if (columns_[i].role == role) return trimmed(fields_[i]);
    }
    return {};
  }

  Result<void> take_sample() {
    const std::string day(field(Role::kDate));
    const std::string_view clock = field(Role::kTime);
    const std::string text = day.empty() ? std::string(clock) : day + " " + std::string(clock);
    std::optional<int64_t> start;
    if (!text.empty()) {
      const auto time = parse_wall_time(text);
      if (!time) {
        info_.counts.dropped["bad_time"]++;
        return {};
      }
      NL_TRY(start, start_of(*time, text));
    } else {
      info_.health["sample_without_time"]++;
    }
    NL_TRY(const int32_t track, track_of(field(Role::kIndex)));
    for (size_t i = 0; i < columns_.size(); i++) {
      if (columns_[i].role == Role::kCounter) store(columns_[i], fields_[i], track, start);
    }
    info_.counts.stored++;
    return writer_.flush_if_large();
  }

  /// Times without a time zone are stored relative to the first sample, because their Unix time is unknown.
  Result<int64_t> start_of(const WallTime& time, const std::string& text) {
    if (!first_ns_) {
      first_ns_ = time.ns;
      has_zone_ = time.has_zone;
      info_.extensions["telemetry"]["first_time"] = repaired_utf8(text);
    }
    if (time.has_zone != has_zone_)
      return Error{ErrorCode::kBadInput,
                   "some times have a time zone and others do not: line " + std::to_string(reader_.line())};
    resolution_ns_ = std::min(resolution_ns_, time.resolution_ns);
    return has_zone_ ? time.ns : time.ns - *first_ns_;
  }

  Result<int32_t> track_of(std::string_view device) {
    const auto [it, is_new] =
        track_ids_.try_emplace(std::string(device), static_cast<int32_t>(devices_.size()));
    if (!is_new) return it->second;
    if (devices_.size() >= kMaxDevices)
      return Error{ErrorCode::kLimit, "the file names more than 4096 devices"};
    model::Device known;
    int64_t number = 0;
    const bool numbered = parse_int64(device, number) && number >= 0 && number < (1 << 20);
    known.device = numbered ? static_cast<int32_t>(number) : static_cast<int32_t>(devices_.size());
    known.name = repaired_utf8(field(Role::kName));
    known.vendor = "NVIDIA";
    known.memory_bytes = total_memory();
    devices_.push_back(known);
    info_.devices.push_back(known);
    if (const auto driver = field(Role::kDriver); !driver.empty())
      info_.versions["driver"] = repaired_utf8(driver);
    return it->second;
  }

  std::optional<int64_t> total_memory() const {
    for (size_t i = 0; i < columns_.size(); i++) {
      if (columns_[i].name != "memory.total") continue;
      const Sample sample = sample_of(columns_[i], fields_[i]);
      if (sample.value && *sample.value > 0 && *sample.value < 1e15)
        return static_cast<int64_t>(*sample.value);
    }
    return std::nullopt;
  }

  struct Sample {
    std::optional<double> value = {};
    std::string unit = {};
    std::string_view absent = {};
  };

  /// "74.01 W": a unit in the cell overrides that of the header.
  static Sample sample_of(const Column& column, std::string_view cell) {
    cell = trimmed(cell);
    std::optional<Unit> unit = column.unit;
    PrintedNumber number = read_number(cell, DecimalSign::kPoint);
    if (const size_t blank = cell.rfind(' '); number.kind == Kind::kText && blank != std::string_view::npos) {
      const PrintedNumber first = read_number(cell.substr(0, blank), DecimalSign::kPoint);
      if (first.kind == Kind::kNumber) {
        number = first;
        unit = unit_of(cell.substr(blank + 1));
      }
    }
    if (column.name == "pstate" && cell.size() > 1 && cell[0] == 'P')
      number = read_number(cell.substr(1), DecimalSign::kPoint);
    Sample sample;
    if (unit) sample.unit = unit->name.empty() ? "1" : unit->name;
    if (number.kind == Kind::kAbsent) sample.absent = number.absent;
    if (number.kind != Kind::kNumber) return sample;
    const Unit known = unit.value_or(Unit{});
    if (const auto scaled = scaled_double(number.decimal, known.exponent))
      sample.value = *scaled * known.factor;
    return sample;
  }

  void store(const Column& column, std::string_view cell, int32_t track,
             const std::optional<int64_t>& start) {
    constexpr auto kTable = TableId::counters;
    const Sample sample = sample_of(column, cell);
    const size_t row = writer_.add(kTable);
    writer_.set_track(kTable, row, counters::track_id, track);
    writer_.set_text(kTable, row, counters::name, column.name);
    writer_.set_text(kTable, row, counters::unit, sample.unit);
    writer_.set(kTable, row, counters::start_ns, start.value_or(kNull));
    if (sample.value) {
      writer_.set_double(kTable, row, counters::value, *sample.value);
    } else if (!sample.absent.empty()) {
      writer_.set_args(kTable, row, counters::args, {{"absent", std::string(sample.absent)}});
    } else {
      writer_.set_args(kTable, row, counters::args, {{"text", std::string(trimmed(cell))}});
    }
    info_.records_by_category["sample"]++;
  }

  void write_tracks() {
    constexpr auto kTable = TableId::tracks;
    for (const auto& device : devices_) {
      const size_t row = writer_.add(kTable);
      writer_.set_text(kTable, row, tracks::kind, "other");
      writer_.set(kTable, row, tracks::process_id, device.device);
      writer_.set_text(kTable, row, tracks::process_name, device.name);
      writer_.set_text(kTable, row, tracks::thread_name, "telemetry");
      writer_.set(kTable, row, tracks::device, device.device);
      writer_.set(kTable, row, tracks::clock_id, 0);
    }
  }

  CsvReader& reader_;
  RowWriter writer_;
  model::RunInfo& info_;
  Form form_ = Form::kNone;
  std::vector<Column> columns_ = {};
  std::vector<std::string> device_columns_ = {};
  Fields fields_ = {};
  std::optional<int64_t> first_ns_ = {};
  bool has_zone_ = false;
  int64_t resolution_ns_ = 1'000'000'000;
  std::map<std::string, int32_t> track_ids_ = {};
  std::vector<model::Device> devices_ = {};
};

// ---- Which column tells devices apart

/// The columns that have different values in rows of the same time. If there is only one device, there are
/// none, and then every candidate may be right.
std::vector<std::string> device_columns(std::string_view head) {
  head = without_byte_order_mark(head);
  std::set<std::string> found;
  std::vector<Column> columns;
  Fields before;
  for (std::string_view rest = head; !rest.empty();) {
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) break;
    const std::string_view line = trimmed(rest.substr(0, end));
    rest.remove_prefix(end + 1);
    if (form_of(line) == Form::kQuery) {
      columns.clear();
      for (const auto name : split_commas(line)) columns.push_back(column_of(name));
      before.clear();
      continue;
    }
    Fields fields = split_commas(line);
    if (columns.empty() || fields.size() != columns.size()) continue;
    bool same_time = !before.empty();
    for (size_t i = 0; i < columns.size() && same_time; i++)
      same_time = columns[i].role != Role::kTime || before[i] == fields[i];
    for (size_t i = 0; i < columns.size() && same_time; i++) {
      if (columns[i].role == Role::kIndex && before[i] != fields[i]) found.insert(columns[i].name);
    }
    before = std::move(fields);
  }
  return {found.begin(), found.end()};
}

/// A cheap test before the lines are examined one by one.
bool may_be_telemetry(std::string_view head) {
  for (const char* part : {"power.", "utilization.", "memory.", "temperature.", "clocks", "Entity", "gpu"}) {
    if (has_part(head, part)) return head[0] != '{' && head[0] != '[';
  }
  return false;
}

Sniffed sniff(std::string_view head, std::string_view) {
  if (head.empty() || !may_be_telemetry(head)) return {};
  head = without_byte_order_mark(head);
  for (std::string_view rest = head; !rest.empty();) {
    const size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    if (line.size() < 16384 && form_of(line) != Form::kNone) return {0.85};
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return {};
}

Result<void> read(ByteSource& source, const ReadOptions& options, model::RunSink& sink,
                  model::RunInfo& info) {
  CsvReader reader(source, {.chunk_bytes = options.window_bytes});
  Telemetry telemetry(reader, sink, info);
  telemetry.set_device_columns(device_columns(source.head()));
  NL_CHECK(for_each_row(source, options, [&] { return telemetry.next(); }));
  if (!reader.was_ended()) info.health["no_line_end"] = 1;
  return telemetry.finish();
}

}  // namespace

const Adapter& adapter() {
  static constexpr Adapter kAdapter{
      "telemetry", 1,   "Samples of devices: nvidia-smi, dcgmi dmon (.csv, .txt)", "telemetry", {},
      sniff,       read};
  return kAdapter;
}

}  // namespace nl::ingest::telemetry_adapter
