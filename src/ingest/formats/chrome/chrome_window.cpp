// Parses one window of a Chrome trace. This is the hot loop of an import: it works on raw JSON tokens and
// remembers the last category and the last track, which most events share with the event before. What needs
// events of other windows (begin/end pairs, repeated flow arrows, kernels that belong to an op before the
// window) is only noted here and settled in order by chrome_trace.cpp. The functions that take an event
// return false only for invalid JSON; an event that cannot be stored is dropped and counted, which is not a
// failure.

#include "ingest/formats/chrome/chrome_window.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/decimal.h"
#include "base/text.h"

namespace nl::ingest {

using model::kNull;
using model::TableId;
namespace spans = model::spans;
namespace kernels = model::kernels;
namespace copies = model::copies;
namespace syncs = model::syncs;
namespace allocations = model::allocations;
namespace flows = model::flows;
namespace counters = model::counters;

namespace {

constexpr TableId table_of(EventClass c) {
  switch (c) {
    case EventClass::kKernel:
      return TableId::kernels;
    case EventClass::kMemcpy:
    case EventClass::kMemset:
      return TableId::copies;
    case EventClass::kSync:
      return TableId::syncs;
    case EventClass::kAllocation:
      return TableId::allocations;
    default:
      return TableId::spans;
  }
}

bool is_device_work(TableId table) {
  return table == TableId::kernels || table == TableId::copies;
}

/// The columns for what every event has; -1 if the table has no such column.
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

TrackDomain domain_of(EventClass c) {
  switch (c) {
    case EventClass::kKernel:
    case EventClass::kMemcpy:
    case EventClass::kMemset:
    case EventClass::kSync:
    case EventClass::kDevice:
    case EventClass::kDeviceAnnotation:
      return TrackDomain::kDevice;
    default:
      return TrackDomain::kHost;
  }
}

/// Absent, or a JSON scalar.
bool is_id(std::string_view token) {
  return token.empty() || is_json_scalar(token);
}

std::string printable(char c) {
  return c > ' ' && c < 127 ? std::string(1, c) : fmt::format("0x{:02x}", static_cast<unsigned char>(c));
}

int correlation_column(TableId table) {
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
bool set_grid(model::Rows& rows, size_t row, int column, std::string_view raw) {
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

bool parse_double(std::string_view raw, double& number) {
  const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), number);
  return error == std::errc{} && end == raw.data() + raw.size() && is_json_scalar(raw);
}

/// Walks valid JSON of the shape [{"float":[2,3]},{"int64":[]}], the way ONNX Runtime writes types and
/// shapes.
class TypedShapes {
 public:
  explicit TypedShapes(std::string_view raw) : p_(raw.data()), end_(raw.data() + raw.size()) {}

  /// False if the text has another shape.
  bool read(std::string& shapes, std::string& types) {
    shapes = types = "[";
    if (!take('[')) return false;
    while (!take(']')) {
      if (shapes.size() > 1 && !take(',')) return false;
      if (shapes.size() > 1) shapes += ',', types += ',';
      if (!take('{') || !read_type(types) || !take(':') || !read_shape(shapes) || !take('}')) return false;
    }
    shapes += ']', types += ']';
    return p_ == end_;
  }

 private:
  bool take(char c) {
    while (p_ < end_ && is_blank(*p_)) p_++;
    if (p_ == end_ || *p_ != c) return false;
    p_++;
    return true;
  }
  bool read_type(std::string& types) {
    if (!take('"')) return false;
    const char* const begin = p_;
    while (p_ < end_ && *p_ != '"' && *p_ != '\\') p_++;
    if (p_ == end_ || *p_ != '"') return false;
    types.append(1, '"').append(begin, p_++).append(1, '"');
    return true;
  }
  bool read_shape(std::string& shapes) {
    if (!take('[')) return false;
    shapes += '[';
    for (; p_ < end_ && *p_ != ']'; p_++) {
      const bool plain = (*p_ >= '0' && *p_ <= '9') || *p_ == ',' || *p_ == '-';
      if (!plain && !is_blank(*p_)) return false;
      if (plain) shapes += *p_;
    }
    shapes += ']';
    return take(']');
  }

  const char* p_;
  const char* const end_;
};

/// Series of one counter event that become rows; further ones stay in its args.
constexpr size_t kMaxSeries = 4096;

/// args is the last column of every table of events.
int args_column(TableId table) {
  return static_cast<int>(model::table(table).columns.size()) - 1;
}

}  // namespace

ArgTargets::ArgTargets(std::span<const KnownArg> args) {
  for (const KnownArg& arg : args) {
    Slot& slot = slots_[slot_of(arg.key)];
    collides_ = collides_ || (!slot.key.empty() && slot.key != arg.key);
    slot.key = arg.key;
    for (size_t c = 0; c < slot.targets.size(); c++) {
      if ((arg.of & set_of(static_cast<EventClass>(c))) == 0) continue;
      slot.targets[c] = {arg.table, arg.column, arg.value};
    }
  }
}

Result<ParsedWindow> WindowParser::parse(JsonWindow& window) {
  ParsedWindow out;
  out.batch = pool_.take();
  out_ = &out;
  batch_ = out.batch.get();
  track_numbers_.clear();
  categories_.clear();
  category_numbers_.clear();
  last_ = {};
  window_offset_ = window.offset;
  NL_TRY(JsonCursor cursor, texts_.begin(window, *batch_));
  if (!read_events(cursor, window.is_whole)) {
    const auto at = window.offset + static_cast<int64_t>(cursor.position()) - 1;
    return Error{ErrorCode::kBadInput, "the JSON is not valid near byte " + std::to_string(at)};
  }
  finish();
  pool_.expect_like(*batch_);
  return out;
}

bool WindowParser::read_events(JsonCursor& cursor, bool may_be_empty) {
  if (!cursor.take('[')) return false;
  if (cursor.take(']')) return may_be_empty;
  for (;;) {
    out_->seen++;
    if (cursor.peek() == '{') {
      position_ = window_offset_ + static_cast<int64_t>(cursor.position()) - 1;
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
bool WindowParser::take_event() {
  const std::string_view phase = unquoted(event_.phase);
  if (phase.size() != 1) return drop("no_phase");
  phases_[static_cast<unsigned char>(phase[0])]++;
  switch (phase[0]) {
    case 'X':
      return take_complete();
    case 'B':
    case 'E':
      return take_half(phase[0] == 'B', false);
    case 'b':
    case 'S':
    case 'e':
    case 'F':
      return take_half(phase[0] == 'b' || phase[0] == 'S', true);
    case 's':
    case 't':
    case 'f':
      return take_flow();
    case 'i':
    case 'I':
      return take_instant();
    case 'C':
      return take_counter();
    case 'M':
      return take_metadata();
    default:
      if (std::string_view("nTpRNODPvVc()").find(phase[0]) == std::string_view::npos) {
        return drop("unsupported_phase");
      }
      event_.extras.push_back({"ph", event_.phase});  // marks, objects, samples, dumps: kept as instants
      return take_instant();
  }
}

bool WindowParser::drop(const char* reason) {
  out_->dropped[reason]++;
  return true;
}

bool WindowParser::take_complete() {
  Category* const category = category_of(event_.category);
  if (category == nullptr) return false;
  category->events++;
  return store(dialect_.refine(category->of, event_), category->text);
}

bool WindowParser::take_instant() {
  Category* const category = category_of(event_.category);
  if (category == nullptr) return false;
  return store(dialect_.refine(EventClass::kInstant, event_), category->text);
}

/// A begin or an end. Its other half may be in another window, so the two are joined later, in the order of
/// the source. The row belongs to the end, because only then is the span complete.
bool WindowParser::take_half(bool is_begin, bool is_async) {
  Category* const category = category_of(event_.category);
  if (category == nullptr) return false;
  HalfEvent half{is_begin};
  int64_t duration = kNull;
  if (!read_times(half.time_ns, duration)) return true;
  if (duration != kNull) event_.extras.push_back({"dur", event_.duration});
  half.track = is_async ? async_track() : track_of(TrackDomain::kHost);
  if (!is_async && !event_.id.empty()) event_.extras.push_back({"id", event_.id});
  half.kind = span_kind_of(category->of);
  half.category = category->text;
  if (!name_text(half.name)) return false;
  rest_.clear();
  for (const JsonMember& arg : event_.args) rest_.push_back(&arg);
  if (!valid_ids_ || !rest_text(half.args)) return false;
  if (is_begin) {
    category->events++;
  } else {
    half.row = batch_->add_row(TableId::spans);
    batch_->set(TableId::spans, half.row, spans::track_id, half.track);
    out_->stored++;
  }
  out_->halves.push_back(half);
  return true;
}

/// One row per series of the counter.
bool WindowParser::take_counter() {
  constexpr auto kTable = TableId::counters;
  int64_t start = kNull;
  int64_t duration = kNull;
  if (!read_times(start, duration)) return true;
  int64_t name = kNull;
  if (!name_text(name)) return false;
  const int64_t track = track_of(TrackDomain::kHost);
  for (const auto& [key, token] : {std::pair{"cat", event_.category}, std::pair{"id", event_.id}}) {
    if (!token.empty()) event_.extras.push_back({key, token});
  }
  const auto add = [&](int64_t series) {
    const size_t row = batch_->add_row(kTable);
    set(kTable, row, counters::track_id, track);
    set(kTable, row, counters::name, name);
    set(kTable, row, counters::start_ns, start);
    set(kTable, row, counters::series, series);
    return row;
  };
  rest_.clear();
  const size_t first = batch_->rows(kTable).size();
  for (const JsonMember& arg : event_.args) {
    double value = 0;
    const bool room = batch_->rows(kTable).size() - first < kMaxSeries;
    if (!room || !parse_double(arg.raw, value)) {
      if (!room) out_->health["counter_series_left_in_args"]++;
      rest_.push_back(&arg);
      continue;
    }
    const int64_t series = texts_.scalar({arg.key.data() - 1, arg.key.size() + 2});
    if (series == kNull) return false;
    batch_->set_double(kTable, add(series), counters::value, value);
  }
  if (batch_->rows(kTable).size() == first) {
    out_->health["counter_without_value"]++;
    add(kNull);
  }
  out_->stored++;
  return valid_ids_ && set_rest(kTable, first);
}

// ---- Rows

bool WindowParser::store(EventClass c, int64_t category) {
  int64_t start = kNull;
  int64_t duration = kNull;
  if (!read_times(start, duration)) return true;
  const TableId table = table_of(c);
  const size_t row = batch_->add_row(table);
  int64_t name = kNull;
  if (!name_text(name)) return false;
  if (!event_.id.empty()) event_.extras.push_back({"id", event_.id});
  correlation_ = kNull;
  const HeadColumns columns = head_columns(table);
  set(table, row, columns.track, track_of(domain_of(c)));
  set(table, row, columns.name, name);
  set(table, row, columns.category, category);
  set_kind(c, table, row);
  mark_window(c, name, start, duration);
  if (is_device_work(table) && start == 0 && duration == 0) {  // CUPTI writes 0 for "no timing"
    out_->health["device_record_without_time"]++;
  } else {
    set(table, row, columns.start, start);
    set(table, row, columns.duration, duration);
  }
  if (!valid_ids_ || !set_args(c, table, row)) return false;
  if (is_device_work(table)) complete_device(table, row);
  if (dialect_.ops_own_next_kernels) own_kernels(c, table, row);
  out_->stored++;
  // Remembered for take_flow(): an arrow often only repeats the event before it.
  last_ = {event_.process, event_.thread, start, correlation_};
  return true;
}

/// False if the event was dropped for want of a time.
bool WindowParser::read_times(int64_t& start, int64_t& duration) {
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

/// A duration that is negative, not a number or impossibly long stays in the args of the row as text.
void WindowParser::read_duration(int64_t& duration) {
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

void WindowParser::set_kind(EventClass c, TableId table, size_t row) {
  if (table == TableId::spans) set(table, row, spans::kind, static_cast<int64_t>(c));
  if (table == TableId::copies) {
    set(table, row, copies::kind, texts_.scalar(c == EventClass::kMemcpy ? "\"memcpy\"" : "\"memset\""));
  }
}

void WindowParser::mark_window(EventClass c, int64_t name, int64_t start, int64_t duration) {
  const char* const kind = dialect_.window_kind(c, event_.name);
  if (kind != nullptr && duration != kNull && name != kNull) {
    out_->windows.push_back({kind, std::string(batch_->strings[static_cast<size_t>(name)]), start, duration});
    out_->ops_after_last_window = 0;
  } else if (c == EventClass::kOp) {
    out_->ops_after_last_window++;
  }
}

/// In some sources only the order of the records shows which op a kernel belongs to: the op before it. The
/// position of the op in the source then serves as the correlation id.
void WindowParser::own_kernels(EventClass c, TableId table, size_t row) {
  if (c == EventClass::kOp) {
    out_->last_op = position_;
    set(table, row, spans::correlation_id, position_);
  } else if (c == EventClass::kKernel && out_->last_op != kNull) {
    set(table, row, kernels::correlation_id, out_->last_op);
  } else if (c == EventClass::kKernel) {
    out_->orphan_kernels.push_back(row);
  }
}

/// Device and stream come from the arguments. Some dialects have them as process and thread id instead.
void WindowParser::complete_device(TableId table, size_t row) {
  static_assert(kernels::device == 4 && kernels::stream == 5 && copies::device == 5 && copies::stream == 6);
  const int device_column = table == TableId::kernels ? int{kernels::device} : int{copies::device};
  const int stream_column = device_column + 1;
  auto& rows = batch_->rows(table);
  int64_t device = rows.cell(row, device_column);
  int64_t number = 0;
  if (dialect_.process_is_device && device == kNull && parse_int64(unquoted(event_.process), number) &&
      number == static_cast<int32_t>(number)) {
    device = number;
    rows.set(row, device_column, number);
  }
  if (dialect_.process_is_device && rows.cell(row, stream_column) == kNull) {
    const SourceId thread = SourceId::of_token(event_.thread);
    if (thread.number) rows.set(row, stream_column, *thread.number);
  }
  if (device != kNull && device != last_device_) {
    last_device_ = device;
    out_->devices.insert(static_cast<int32_t>(device));
  }
}

// ---- Arguments

bool WindowParser::set_args(EventClass c, TableId table, size_t row) {
  rest_.clear();
  for (const JsonMember& arg : event_.args) {
    const ArgTargets::Target& target = targets_.find(arg.key, c);
    if (target.table == TableId::kCount || !set_value(target, row, arg.raw)) rest_.push_back(&arg);
  }
  return set_rest(table, row);
}

bool WindowParser::set_int(const ArgTargets::Target& target, size_t row, std::string_view text) {
  int64_t number = 0;
  if (!parse_int64(text, number) || number == kNull || (text.size() > 1 && text[0] == '0')) return false;
  const model::Type type = model::table(target.table).columns[static_cast<size_t>(target.column)].type;
  if (type == model::Type::i32 && number != static_cast<int32_t>(number)) return false;
  if (target.column == correlation_column(target.table)) correlation_ = number;
  batch_->rows(target.table).set(row, target.column, number);
  return true;
}

/// False if the value is not what the column holds; it then goes to the rest.
bool WindowParser::set_value(const ArgTargets::Target& target, size_t row, std::string_view raw) {
  auto& rows = batch_->rows(target.table);
  if (rows.cell(row, target.column) != kNull) return false;
  switch (target.value) {
    case ArgValue::kInt:
      return set_int(target, row, raw);
    case ArgValue::kQuotedInt:
      return set_int(target, row, unquoted(raw));
    case ArgValue::kDouble: {
      double number = 0;
      if (!parse_double(raw, number)) return false;
      rows.set(row, target.column, std::bit_cast<int64_t>(number));
      return true;
    }
    case ArgValue::kText: {
      if (raw[0] != '"') return false;
      const int64_t text = texts_.scalar(raw);
      if (text == kNull) return false;
      rows.set(row, target.column, text);
      return true;
    }
    case ArgValue::kJson: {
      if (raw[0] != '[') return false;
      rows.set(row, target.column, texts_.json(raw));
      return true;
    }
    case ArgValue::kGrid:
      return set_grid(rows, row, target.column, raw);
    case ArgValue::kTypedShapes:
      return set_typed_shapes(row, raw);
  }
  return false;
}

bool WindowParser::set_typed_shapes(size_t row, std::string_view raw) {
  if (raw[0] != '[') return false;
  // The two keys are parts of the text that are not valid JSON themselves, so no other string of the batch
  // can have the same key.
  const std::string_view shapes_key = raw.substr(0, raw.size() - 1);
  const std::string_view types_key = raw.substr(1);
  std::string shapes, types;
  const int64_t shapes_text = texts_.keyed(shapes_key, [&]() -> int64_t {
    return TypedShapes(raw).read(shapes, types) ? batch_->add_string(batch_->arena.keep(shapes)) : kNull;
  });
  if (shapes_text == kNull) return false;
  const int64_t types_text =
      texts_.keyed(types_key, [&] { return batch_->add_string(batch_->arena.keep(types)); });
  batch_->set(TableId::spans, row, spans::shapes, shapes_text);
  batch_->set(TableId::spans, row, spans::dtypes, types_text);
  return true;
}

bool WindowParser::set_rest(TableId table, size_t row) {
  int64_t text = kNull;
  if (!rest_text(text)) return false;
  set(table, row, args_column(table), text);
  return true;
}

/// Everything that has no column, as one JSON object. Keys of the event itself go under "$event", so that
/// they cannot collide with its arguments.
bool WindowParser::rest_text(int64_t& text) {
  if (rest_.empty() && event_.extras.empty()) return true;
  size_t size = 0;
  for (const JsonMember* arg : rest_) size += ObjectText::size_of(*arg);
  for (const JsonMember& extra : event_.extras) size += ObjectText::size_of(extra);
  ObjectText object(*batch_, size);
  for (const JsonMember* arg : rest_) {
    if (!object.add(*arg, out_->health)) return false;
  }
  if (!event_.extras.empty()) {
    object.open("$event");
    for (const JsonMember& extra : event_.extras) {
      if (!object.add(extra, out_->health)) return false;
    }
    object.close();
  }
  text = object.finish();
  return true;
}

// ---- Strings, categories, tracks

WindowParser::Category* WindowParser::category_of(std::string_view token) {
  if (!categories_.empty() && same_text(token, last_category_token_)) return &categories_[last_category_];
  const int64_t text = token.empty() ? kNull : texts_.scalar(token);
  if (!token.empty() && text == kNull) return nullptr;
  last_category_token_ = token;
  const size_t number = text == kNull ? 0 : static_cast<size_t>(text) + 1;
  if (category_numbers_.size() <= number) category_numbers_.resize(number + 1);
  if (size_t& known = category_numbers_[number]; known > 0) {
    last_category_ = known - 1;
    return &categories_[last_category_];
  } else {
    last_category_ = categories_.size();
    known = last_category_ + 1;
  }
  const EventClass c =
      text == kNull ? EventClass::kOther : dialect_.class_of(batch_->strings[static_cast<size_t>(text)]);
  categories_.push_back({text, c, 0});
  return &categories_.back();
}

/// False if the token is not a valid string or scalar; a name of which nothing is left is NULL.
bool WindowParser::name_text(int64_t& name) {
  if (event_.name.empty()) return true;
  name = texts_.scalar(event_.name);
  if (name == kNull) return false;
  if (event_.name_cut == 0) return true;
  const std::string_view whole = batch_->strings[static_cast<size_t>(name)];
  const std::string_view kept = whole.substr(0, whole.size() - event_.name_cut);
  const auto add = [&] { return batch_->add_string(kept); };
  // A shortened name may only be interned under itself if it cannot be mistaken for a JSON text or a part of
  // one, which are the keys of the other strings.
  const bool plain = !kept.empty() && (kept[0] == '/' || kept[0] == '_' || (kept[0] | 0x20) >= 'a');
  name = kept.empty() ? kNull : plain && kept[0] < 'z' ? texts_.keyed(kept, add) : add();
  return true;
}

int64_t WindowParser::track_of(TrackDomain domain) {
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

/// Async events of one id nest among themselves, whatever thread they come from, so each id gets its own
/// track.
int64_t WindowParser::async_track() {
  std::string_view id = event_.id;
  for (const JsonMember& extra : event_.extras) {
    if (extra.key == "id2" || (extra.key == "scope" && id.empty())) id = extra.raw;
  }
  std::erase_if(event_.extras, [](const JsonMember& extra) { return extra.key == "id2"; });
  const std::string text =
      "async " + std::string(unquoted(event_.category)) + " " + std::string(unquoted(id));
  const auto [known, is_new] =
      track_numbers_.try_emplace("\2" + std::string(event_.process) + "\n" + text, out_->tracks.size());
  if (!is_new) return static_cast<int64_t>(known->second);
  valid_ids_ = valid_ids_ && is_id(event_.process) && (id.empty() || id[0] == '{' || is_id(id));
  out_->tracks.push_back({TrackDomain::kHost, SourceId::of_token(event_.process), {std::nullopt, text}});
  return static_cast<int64_t>(known->second);
}

// ---- Flows and metadata

bool WindowParser::take_flow() {
  int64_t start = kNull;
  int64_t id = kNull;
  const std::string_view category = unquoted(event_.category);
  const bool launch_arrow = category == "ac2g" || category == "async_cpu_to_gpu" || category == "async";
  const bool plain = parse_int64(unquoted(event_.id), id) &&
                     parse_decimal(unquoted(event_.time), 3, start) == DecimalParse::kExact;
  // Every end of an arrow has "bp":"e"; it carries no information.
  std::erase_if(event_.extras, [](const JsonMember& e) { return e.key == "bp" && e.raw == "\"e\""; });
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
  // No event came before in this window: the event that the arrow repeats may be the last one of the window
  // before.
  if (comparable && last_.time_ns == kNull) {
    out_->open_flows.push_back({row, {std::string(event_.process), std::string(event_.thread), start, id}});
  }
  return is_id(event_.process) && is_id(event_.thread) && is_id(event_.id) && set_flow(row, start, id);
}

bool WindowParser::set_flow(size_t row, int64_t start, int64_t id) {
  constexpr auto kTable = TableId::flows;
  const std::pair<std::string_view, int> texts[] = {{event_.name, flows::name},
                                                    {event_.category, flows::category}};
  for (const auto& [token, column] : texts) {
    if (token.empty()) continue;
    const int64_t text = texts_.scalar(token);
    if (text == kNull) return false;
    set(kTable, row, column, text);
  }
  set(kTable, row, flows::phase, texts_.scalar(event_.phase));
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
  for (const JsonMember& arg : event_.args) rest_.push_back(&arg);
  out_->stored++;
  return set_rest(kTable, row);
}

bool WindowParser::take_metadata() {
  std::string args = "{";
  for (const JsonMember& arg : event_.args) {
    if (arg.raw[0] != '{' && arg.raw[0] != '[' && !is_json_scalar(arg.raw)) return false;
    args += (args.size() > 1 ? ",\"" : "\"") + std::string(arg.key) + "\":" + std::string(arg.raw);
  }
  out_->metadata.push_back({std::string(unquoted(event_.name)), SourceId::of_token(event_.process),
                            SourceId::of_token(event_.thread), args + "}"});
  out_->folded["metadata"]++;
  return true;
}

void WindowParser::finish() {
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

}  // namespace nl::ingest
