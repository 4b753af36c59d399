#include <fmt/core.h>

#include <array>
#include <charconv>
#include <optional>
#include <thread>
#include <utility>

#include "ops/runs/named_analysis.h"
#include "ops/text/text.h"
#include "store/arrow_stream.h"
#include "store/sql_workers.h"
#include "store/user_query.h"

namespace nl::ops::query_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["run", "sql"],
  "properties": {
    "run": {"x-run": true},
    "sql": {"type": "string", "x-positional": 2, "x-prose": true, "description": "one SELECT over the tables that neurolens schema lists"},
    "format": {"x-rare": true, "type": "string", "enum": ["table", "csv", "json", "parquet", "arrow"], "description": "default: table; arrow: a stream of Apache Arrow, in which a number that 64 bits do not hold is text"},
    "limit": {"type": "integer", "minimum": 0, "maximum": 100000, "x-own-default": 200,
              "description": "most rows of the answer, 0: 100,000; the answer says how many are left out; --format writes all"},
    "seconds": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 86400, "default": 600,
                "description": "stop after this many seconds"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["columns", "rows", "truncated", "rows_left_out"],
  "properties": {"columns": {"type": "array", "items": {"type": "string"}},
                 "rows": {"type": "array", "items": {"type": "array"}},
                 "truncated": {"type": "boolean", "description": "there are more rows than these"},
                 "rows_left_out": {"type": "integer", "description": "how many more"}}})";

constexpr Cut kCuts[] = {{"/rows"}, {"/columns", kKeepAll}};

constexpr int64_t kUsualRows = 200;
constexpr int64_t kMaxRowsInMemory = 100'000;
constexpr size_t kMaxBytesInMemory = 64 << 20;  // of the text of all rows together

std::string json_string(std::string_view text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Is the text the shortest one of this number?
bool same_double(double number, std::string_view text) {
  std::array<char, 64> shortest;
  const auto end = std::to_chars(shortest.data(), shortest.data() + shortest.size(), number).ptr;
  return text == std::string_view(shortest.data(), static_cast<size_t>(end - shortest.data()));
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    out += c;
    if (c == '"') out += c;
  }
  return out + "\"";
}

std::string json_value(const store::Cell& cell, store::CellKind kind) {
  if (cell.is_null) return "null";
  return kind == store::CellKind::kText ? json_string(cell.text) : std::string(cell.text);
}

/// A number that JSON readers would round stays text.
json exact_json(const store::Cell& cell, store::CellKind kind) {
  if (cell.is_null) return nullptr;
  if (kind == store::CellKind::kText) return cell.text;
  json value = json::parse(cell.text, nullptr, false);
  if (value.is_discarded()) return cell.text;
  if (value.is_number_float() && value.dump() != cell.text && !same_double(value.get<double>(), cell.text))
    return cell.text;
  return value;
}

/// Writes rows to the byte stream as they come, in pieces.
class RowStream {
 public:
  RowStream(Context& context, std::string format) : context_(context), format_(std::move(format)) {}

  store::QuerySink sink() {
    return {[this](const auto& columns) { return begin(columns); },
            [this](auto cells) { return row(cells); }};
  }
  Result<void> finish() {
    if (format_ == "json") text_ += rows_ == 0 ? "[]\n" : "\n]\n";
    return flush(0);
  }

 private:
  Result<void> begin(const std::vector<store::ResultColumn>& columns) {
    columns_ = columns;
    for (const auto& column : columns_) keys_.push_back(json_string(column.name) + ":");
    if (format_ != "csv") return {};
    for (size_t c = 0; c < columns_.size(); c++) text_ += (c == 0 ? "" : ",") + csv_field(columns_[c].name);
    text_ += "\n";
    return {};
  }
  Result<void> row(std::span<const store::Cell> cells) {
    if (format_ == "csv") {
      for (size_t c = 0; c < cells.size(); c++) {
        if (c > 0) text_ += ',';
        if (!cells[c].is_null) text_ += cells[c].text.empty() ? "\"\"" : csv_field(cells[c].text);
      }
    } else {
      text_ += rows_ == 0 ? "[\n{" : ",\n{";
      for (size_t c = 0; c < cells.size(); c++) {
        if (c > 0) text_ += ',';
        text_ += keys_[c] + json_value(cells[c], columns_[c].kind);
      }
      text_ += '}';
    }
    if (format_ == "csv") text_ += '\n';
    rows_++;
    return flush(1 << 16);
  }
  Result<void> flush(size_t at_least) {
    if (text_.size() < at_least) return {};
    NL_CHECK(context_.bytes(text_));
    text_.clear();
    return {};
  }

  Context& context_;
  std::string format_;
  std::vector<store::ResultColumn> columns_;
  std::vector<std::string> keys_;
  std::string text_;
  int64_t rows_ = 0;
};

/// Where the SQL runs: in a process of its own, or here.
class QueryRunner {
 public:
  QueryRunner(const Context& context, const store::QueryLimits& limits)
      : context_(context),
        limits_(limits),
        engine_(is_here() ? store::EngineStart(store::query_engine(limits))
                          : store::EngineStart::leased_when_needed(store::reading_engine())) {
    if (!is_here()) context.sql_workers->expect_query();
  }

  const store::EngineStart& engine() const { return engine_; }

  Result<void> rows(const store::OpenRun& run, const std::string& sql, const store::QuerySink& sink) {
    if (!is_here()) return context_.sql_workers->query(run.place(), sql, limits_, sink);
    return store::run_user_query(engine_, run.files(), sql, limits_, sink);
  }
  Result<void> parquet(const store::OpenRun& run, const std::string& sql) {
    if (!is_here()) return context_.sql_workers->query_as_parquet(run.place(), sql, limits_, context_.bytes);
    return store::stream_user_query_as_parquet(engine_, run.files(), sql, limits_, context_.bytes);
  }

 private:
  bool is_here() const { return context_.sql_workers == nullptr; }

  const Context& context_;
  const store::QueryLimits& limits_;
  store::EngineStart engine_;
};

int64_t row_limit(const json& parameters) {
  const int64_t asked = parameters.value("limit", kUsualRows);
  return asked == 0 ? kMaxRowsInMemory : asked;
}

json row_json(std::span<const store::Cell> cells, const std::vector<store::ResultColumn>& columns) {
  json row = json::array();
  for (size_t c = 0; c < cells.size(); c++) row.push_back(exact_json(cells[c], columns[c].kind));
  return row;
}

/// "200 of 12,345 rows; --limit 0 shows all"
std::string rows_text(const json& data) {
  const auto shown = static_cast<int64_t>(data["rows"].size());
  const int64_t all = shown + data["rows_left_out"].get<int64_t>();
  if (shown == all) return counted(all, "row");
  return fmt::format(
      "{} of {}; {}", grouped(shown), counted(all, "row"),
      all > kMaxRowsInMemory ? "--format csv, json, parquet or arrow writes all" : "--limit 0 shows all");
}

size_t bytes_of(std::span<const store::Cell> cells) {
  size_t sum = 0;
  for (const store::Cell& cell : cells) sum += cell.text.size();
  return sum;
}

/// Rows as JSON for the envelope and for the text table. Beyond the limits they are only counted.
Result<Outcome> collect(QueryRunner& runner, const store::OpenRun& run, const json& parameters) {
  const int64_t limit = row_limit(parameters);
  json names = json::array(), rows = json::array();
  int64_t left_out = 0;
  size_t bytes = 0;
  std::vector<store::ResultColumn> columns;
  store::QuerySink sink;
  sink.columns = [&](const auto& given) {
    columns = given;
    for (const auto& c : columns) names.push_back(c.name);
    return Result<void>();
  };
  sink.row = [&](std::span<const store::Cell> cells) {
    bytes += bytes_of(cells);
    if (std::cmp_less(rows.size(), limit) && bytes <= kMaxBytesInMemory) {
      rows.push_back(row_json(cells, columns));
    } else {
      left_out++;
    }
    return Result<void>();
  };
  NL_CHECK(runner.rows(run, parameters["sql"], sink));
  Outcome outcome;
  outcome.data = {{"columns", std::move(names)},
                  {"rows", std::move(rows)},
                  {"truncated", left_out > 0},
                  {"rows_left_out", left_out}};
  if (left_out > 0) outcome.warnings.push_back("not shown: " + counted(left_out, "row"));
  if (bytes > kMaxBytesInMemory)
    outcome.warnings.emplace_back(
        "an answer holds 64 MB of rows at most; --format csv, json, parquet or arrow gives all");
  return outcome;
}

Result<Outcome> run(Context& context, const json& parameters) {
  store::QueryLimits limits;
  limits.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  limits.seconds = parameters["seconds"];
  limits.cancelled = context.cancelled;
  limits.temp_folder = context.environment->temp_folder();
  QueryRunner runner(context, limits);
  NL_TRY(const auto named, resolve_run(context, parameters["run"]));
  NL_TRY(const auto open, open_derived(named, runner.engine()));
  const std::string sql = parameters["sql"];
  const std::string format = parameters.value("format", "table");
  if (format == "table" || !context.bytes) return collect(runner, *open, parameters);
  if (parameters.contains("limit"))
    return Error{ErrorCode::kBadInput, "a stream has all rows", "put LIMIT into the statement"};
  if (format == "parquet") {
    NL_CHECK(runner.parquet(*open, sql));
    return Outcome{};
  }
  if (format == "arrow") {
    store::ArrowStream stream(context.bytes);
    NL_CHECK(runner.rows(*open, sql,
                         {[&](const auto& columns) { return stream.begin(columns); },
                          [&](auto cells) { return stream.row(cells); }}));
    NL_CHECK(stream.finish());
    return Outcome{};
  }
  RowStream rows(context, format);
  NL_CHECK(runner.rows(*open, sql, rows.sink()));
  NL_CHECK(rows.finish());
  return Outcome{};
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  const auto& data = outcome.data;
  if (!data.contains("columns")) return "";
  const auto& rows = data["rows"];
  std::vector<TextTable::Align> alignment;
  std::vector<std::string> header;
  for (size_t c = 0; c < data["columns"].size(); c++) {
    const bool number = !rows.empty() && rows[0][c].is_number();
    alignment.push_back(number ? TextTable::Align::kRight : TextTable::Align::kLeft);
    header.push_back(data["columns"][c]);
  }
  TextTable table(alignment);
  table.add(header);
  for (const auto& row : rows) {
    std::vector<std::string> cells;
    for (const auto& value : row) {
      cells.push_back(value.is_null()     ? "NULL"
                      : value.is_string() ? shortened(value.get<std::string>(), 60)
                                          : value.dump());
    }
    table.add(cells);
  }
  return table.text("", true, style) + dim(rows_text(data), style) + "\n";
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "query",
      .summary =
          "Run one SQL SELECT over the tables of a run: kernels, ops, launches, API calls, copies, counters",
      .use_when =
          "you need rows or statistics of your own: the top ten longest kernels, grid or block sizes, "
          "registers, bytes and direction of memcpy, how often a function was called, count, sum, total, "
          "average, median, percentile, distribution or histogram of durations by name, stream or thread, "
          "joins of kernels with the ops that launched them",
      .not_when = "a summary is enough: analyze",
      .example = R"({"run": "@latest", "sql": "SELECT name, sum(dur_ns) FROM kernels GROUP BY 1"})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = true, .mcp = true},
      .stream = Stream::kRows,
      .cuts = kCuts,
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::query_operation
