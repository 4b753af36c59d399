#include "ingest/formats/run_file/run_file_window.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include "base/decimal.h"

namespace nl::ingest {

using model::kNull;
using model::TableId;
using model::Type;
namespace metrics = model::kernel_metrics;

namespace {

constexpr uint64_t kMetricsBit = uint64_t{1} << 63;
constexpr size_t kShown = 40;

std::string range_text(const model::Column& column) {
  const auto [least, most] = model::range_of(column);
  return "an integer from " + std::to_string(least) + " to " + std::to_string(most);
}

/// The start of the text, cut between characters.
std::string shown(std::string_view raw) {
  if (raw.size() <= kShown) return std::string(raw);
  size_t cut = kShown;
  while (cut > 0 && (static_cast<unsigned char>(raw[cut]) & 0xC0) == 0x80) cut--;
  return std::string(raw.substr(0, cut)) + "…";
}

/// Whole numbers as nearly every document writes them.
bool is_plain_integer(std::string_view raw) {
  const size_t digits = raw[0] == '-' ? 1 : 0;
  return raw.size() > digits && (raw[digits] != '0' || raw.size() == digits + 1) &&
         raw.find_first_not_of("0123456789", digits) == std::string_view::npos;
}

bool is_number_token(std::string_view raw) {
  return raw[0] == '-' || (raw[0] >= '0' && raw[0] <= '9');
}

}  // namespace

Result<RunFileWindow> RunFileParser::parse(JsonWindow& window) {
  RunFileWindow out;
  out.batch = pool_.take();
  out_ = &out;
  batch_ = out.batch.get();
  begin(window);
  NL_TRY(JsonCursor cursor, index_.index(window));
  if (!read_rows(cursor, window.is_whole)) {
    const auto at = window.offset + static_cast<int64_t>(cursor.position()) - 1;
    return Error{ErrorCode::kBadInput, "the JSON is not valid near byte " + std::to_string(at)};
  }
  pool_.expect_like(*batch_);
  return out;
}

void RunFileParser::begin(const JsonWindow& window) {
  strings_.clear();
  json_strings_.clear();
  track_numbers_.clear();
  out_->array = window.array;
  table_ = &model::run_file_tables()[window.array];
  columns_ = model::table(table_->table).columns;
  duration_ = model::duration_column(table_->table);
}

bool RunFileParser::read_rows(JsonCursor& cursor, bool may_be_empty) {
  if (!cursor.take('[')) return false;
  if (cursor.take(']')) return may_be_empty;
  for (;;) {
    if (!read_row(cursor)) return false;
    out_->rows++;
    if (cursor.take(']')) return true;
    if (!cursor.take(',')) return false;
  }
}

bool RunFileParser::read_row(JsonCursor& cursor) {
  if (cursor.peek() != '{') {
    std::string_view raw;
    return cursor.take_value(raw, kMaxDepth) && expected("", "an object", raw);
  }
  cursor.advance();
  const size_t row = batch_->add_row(table_->table);
  seen_ = 0;
  next_column_ = 0;
  first_metric_ = batch_->rows(TableId::kernel_metrics).size();
  while (!cursor.take('}')) {
    if (seen_ != 0 && !cursor.take(',')) return false;
    if (!read_member(cursor, row)) return false;
  }
  check_required();
  if (table_->is_ops) {
    batch_->set(table_->table, row, model::spans::kind, static_cast<int64_t>(model::SpanKind::op));
  }
  name_metrics(row);
  add_duration(row);
  return true;
}

bool RunFileParser::read_member(JsonCursor& cursor, size_t row) {
  std::string_view name;
  if (!take_name(cursor, name)) return false;
  const bool is_metrics = name == "metrics" && model::has_metrics(*table_);
  const int column = is_metrics ? -1 : column_named(name);
  const uint64_t bit = is_metrics || column < 0 ? kMetricsBit : uint64_t{1} << column;
  const bool again = (is_metrics || column >= 0) && (seen_ & bit) != 0;
  seen_ |= column < 0 && !is_metrics ? uint64_t{1} << 62 : bit;
  if (is_metrics && !again) return read_metrics(cursor, row);
  std::string_view raw;
  if (!take_any(cursor, raw)) return false;
  if (again) {
    fault(pointer_step(name), "given twice");
  } else if (column < 0) {
    fault(pointer_step(name), "no such member");
  } else {
    return set_cell(row, column, raw);
  }
  return raw[0] == '{' || raw[0] == '[' || is_json_scalar(raw);
}

void RunFileParser::check_required() {
  for (size_t c = 0; c < columns_.size(); c++) {
    if ((seen_ >> c & 1) != 0 || !model::is_required(*table_, columns_[c])) continue;
    fault("", "expected a member " + std::string(columns_[c].name));
  }
}

void RunFileParser::add_duration(size_t row) {
  if (duration_ < 0) return;
  const int64_t duration = batch_->rows(table_->table).cell(row, duration_);
  if (duration != kNull) out_->total_ns += duration;
}

bool RunFileParser::take_name(JsonCursor& cursor, std::string_view& name) {
  if (!cursor.take_key(name)) return false;
  if (name.find('\\') == std::string_view::npos) return true;
  return index_.unescape({name.data() - 1, name.size() + 2}, batch_->arena, name);
}

bool RunFileParser::take_any(JsonCursor& cursor, std::string_view& raw) {
  if (cursor.peek() == '{' || cursor.peek() == '[') return cursor.take_value(raw, kMaxDepth);
  return cursor.take_raw(raw);
}

/// Members mostly come in the order of the columns, so the search begins behind the last one.
int RunFileParser::column_named(std::string_view name) {
  const int count = static_cast<int>(columns_.size());
  for (int k = 0; k < count; k++) {
    const int c = (next_column_ + k) % count;
    const Column& column = columns_[static_cast<size_t>(c)];
    if (column.name != name || !model::is_member(*table_, column)) continue;
    next_column_ = c + 1;
    return c;
  }
  return -1;
}

// ---- Cells

bool RunFileParser::set_cell(size_t row, int column, std::string_view raw) {
  const Column& of = columns_[static_cast<size_t>(column)];
  switch (of.type) {
    case Type::row_id:
    case Type::track:
    case Type::i32:
    case Type::i64:
      return set_integer(row, column, raw);
    case Type::f64:
      return set_number(row, column, raw);
    case Type::span_kind:
      return set_kind(row, column, raw);
    case Type::dict:
    case Type::json:
      break;
  }
  return model::holds_json(of) ? set_json(row, column, raw) : set_text(row, column, raw);
}

bool RunFileParser::set_integer(size_t row, int column, std::string_view raw) {
  const Column& of = columns_[static_cast<size_t>(column)];
  const bool plain = is_number_token(raw) && is_plain_integer(raw);
  if (!plain && raw[0] != '{' && raw[0] != '[' && !is_json_scalar(raw)) return false;
  int64_t value = 0;
  const bool whole = plain ? parse_int64(raw, value)
                           : is_number_token(raw) && parse_decimal(raw, 0, value) == DecimalParse::kExact;
  const auto [least, most] = model::range_of(of);
  if (!whole || value < least || value > most) {
    return expected(pointer_step(of.name), range_text(of), raw);
  }
  batch_->set(table_->table, row, column, of.type == Type::track ? track_number(value) : value);
  return true;
}

namespace {

/// A finite number; false if the text is something else.
bool parse_finite(std::string_view raw, double& number) {
  if (!is_number_token(raw)) return false;
  const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), number);
  // Too small to tell from zero is no error.
  if (error == std::errc::result_out_of_range) number = std::strtod(std::string(raw).c_str(), nullptr);
  if (number == 0) number = 0;  // the bits of minus zero mean NULL
  return std::isfinite(number) && end == raw.data() + raw.size();
}

}  // namespace

bool RunFileParser::set_number(size_t row, int column, std::string_view raw) {
  if (raw[0] != '{' && raw[0] != '[' && !is_json_scalar(raw)) return false;
  const Column& of = columns_[static_cast<size_t>(column)];
  double number = 0;
  if (!parse_finite(raw, number)) return expected(pointer_step(of.name), "a number", raw);
  batch_->set_double(table_->table, row, column, number);
  return true;
}

bool RunFileParser::set_text(size_t row, int column, std::string_view raw) {
  const Column& of = columns_[static_cast<size_t>(column)];
  if (raw[0] != '"') {
    const bool is_value = raw[0] == '{' || raw[0] == '[' || is_json_scalar(raw);
    return is_value && expected(pointer_step(of.name), "a string", raw);
  }
  const int64_t text = text_of(raw);
  if (text == kNull) return false;
  batch_->set(table_->table, row, column, text);
  return true;
}

bool RunFileParser::set_kind(size_t row, int column, std::string_view raw) {
  const Column& of = columns_[static_cast<size_t>(column)];
  int64_t text = kNull;
  if (raw[0] == '"') text = text_of(raw);
  if (raw[0] == '"' && text == kNull) return false;
  for (size_t k = 0; text != kNull && k < std::size(model::kSpanKinds); k++) {
    if (batch_->strings[static_cast<size_t>(text)] != model::kSpanKinds[k]) continue;
    batch_->set(table_->table, row, column, static_cast<int64_t>(k));
    return true;
  }
  const bool is_value = raw[0] == '"' || raw[0] == '{' || raw[0] == '[' || is_json_scalar(raw);
  return is_value && expected(pointer_step(of.name), "one of: " + std::string(of.doc), raw);
}

/// An object or array stands for its own text; a string holds JSON text, or is a JSON string itself.
bool RunFileParser::set_json(size_t row, int column, std::string_view raw) {
  const Column& of = columns_[static_cast<size_t>(column)];
  if (raw[0] != '{' && raw[0] != '[' && !is_json_scalar(raw)) return false;
  if (raw[0] != '{' && raw[0] != '[' && raw[0] != '"') {
    return expected(pointer_step(of.name), "an object, an array or a string", raw);
  }
  batch_->set(table_->table, row, column, raw[0] == '"' ? json_in_string(raw) : raw_json(raw));
  return true;
}

int64_t RunFileParser::track_number(int64_t track_id) {
  const auto next = static_cast<int64_t>(batch_->track_ids.size());
  const auto [it, is_new] = track_numbers_.try_emplace(track_id, next);
  if (is_new) batch_->track_ids.push_back(static_cast<int32_t>(track_id));
  return it->second;
}

int64_t RunFileParser::text_of(std::string_view token) {
  return strings_.get(token, [&]() -> int64_t {
    std::string_view text;
    if (!index_.unescape(token, batch_->arena, text)) return kNull;
    return batch_->add_string(text);
  });
}

int64_t RunFileParser::raw_json(std::string_view raw) {
  return strings_.get(raw, [&] {
    char* const copy = batch_->arena.reserve(raw.size());
    std::memcpy(copy, raw.data(), raw.size());
    replace_lone_surrogates(copy, raw.size());
    return batch_->add_string({copy, raw.size()});
  });
}

int64_t RunFileParser::json_in_string(std::string_view token) {
  return json_strings_.get(token, [&]() -> int64_t {
    std::string_view text;
    const bool is_text = index_.unescape(token, batch_->arena, text) && is_json(text);
    const std::string_view kept = batch_->arena.keep(is_text ? text : token);
    replace_lone_surrogates(const_cast<char*>(kept.data()), kept.size());
    return batch_->add_string(kept);
  });
}

bool RunFileParser::is_json(std::string_view text) {
  const size_t size = text.size() + 2;
  if (nested_.capacity < size) {
    nested_.capacity = size * 2;
    nested_.memory = std::make_unique_for_overwrite<char[]>(nested_.capacity + kJsonPadding);
    nested_.text = nested_.memory.get();
  }
  nested_.size = size;
  nested_.text[0] = '[';
  std::memcpy(nested_.text + 1, text.data(), text.size());
  nested_.text[size - 1] = ']';
  std::memset(nested_.text + size, ' ', kJsonPadding);
  auto cursor = nested_index_.index(nested_);
  std::string_view raw;
  return cursor && cursor->take('[') && cursor->take_value(raw, kMaxDepth) && cursor->take(']') &&
         cursor->peek() == ' ';
}

// ---- Counters of a kernel

bool RunFileParser::read_metrics(JsonCursor& cursor, size_t row) {
  if (cursor.peek() != '{') {
    std::string_view raw;
    return cursor.take_value(raw, kMaxDepth) && expected("/metrics", "an object", raw);
  }
  cursor.advance();
  for (bool first = true; !cursor.take('}'); first = false) {
    if (!first && !cursor.take(',')) return false;
    std::string_view name;
    if (!take_name(cursor, name) || !read_metric(cursor, row, name)) return false;
  }
  return true;
}

bool RunFileParser::read_metric(JsonCursor& cursor, size_t row, std::string_view name) {
  constexpr auto kTable = TableId::kernel_metrics;
  const std::string place = "/metrics" + pointer_step(name);
  const size_t metric = batch_->add_row(kTable);
  out_->metrics++;
  batch_->set(kTable, metric, metrics::launch_id, static_cast<int64_t>(row));
  batch_->set_text(kTable, metric, metrics::metric, name);
  if (cursor.peek() == '{') return read_metric_with_unit(cursor, metric, place);
  std::string_view raw;
  return cursor.take_value(raw, kMaxDepth) && set_metric_value(metric, raw, place);
}

bool RunFileParser::read_metric_with_unit(JsonCursor& cursor, size_t metric, const std::string& place) {
  cursor.advance();
  bool has_value = false;
  for (bool first = true; !cursor.take('}'); first = false) {
    if (!first && !cursor.take(',')) return false;
    std::string_view name;
    std::string_view raw;
    if (!take_name(cursor, name) || !cursor.take_value(raw, kMaxDepth)) return false;
    if (name == "value") {
      has_value = true;
      set_metric_value(metric, raw, place + "/value");
    } else if (name != "unit") {
      fault(place + pointer_step(name), "no such member");
    } else if (raw[0] != '"') {
      expected(place + "/unit", "a string", raw);
    } else {
      batch_->set(TableId::kernel_metrics, metric, metrics::unit, text_of(raw));
    }
  }
  if (!has_value) fault(place, "expected a member value");
  return true;
}

bool RunFileParser::set_metric_value(size_t metric, std::string_view raw, const std::string& place) {
  double number = 0;
  if (!parse_finite(raw, number)) return expected(place, "a number", raw);
  batch_->set_double(TableId::kernel_metrics, metric, metrics::value, number);
  return true;
}

void RunFileParser::name_metrics(size_t row) {
  auto& rows = batch_->rows(TableId::kernel_metrics);
  if (rows.size() == first_metric_ || !model::has_metrics(*table_)) return;
  const int64_t name = batch_->rows(TableId::kernels).cell(row, model::kernels::name);
  for (size_t m = first_metric_; name != kNull && m < rows.size(); m++) {
    rows.set(m, metrics::kernel_name, name);
  }
}

void RunFileParser::fault(const std::string& below, std::string message) {
  if (out_->faults.size() < kMaxFaults) out_->faults.push_back({out_->rows, {below, std::move(message)}});
}

/// Always true: the JSON is right, only its meaning is not.
bool RunFileParser::expected(const std::string& below, const std::string& what, std::string_view found) {
  fault(below, "expected " + what + ", found " + shown(found));
  return true;
}

}  // namespace nl::ingest
