// Runs SQL of a user over one run. The process and its engine are confined before the text is looked at: they
// may only read the run's own Parquet files, and the engine's configuration is locked. The text must be one
// SELECT of what query_syntax.h lets through, and a watchdog interrupts it when its time is over. Rows are
// streamed to the sink, so a large result needs little memory.

#include "store/user_query.h"

#include <duckdb.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "base/checked_thread.h"
#include "base/files.h"
#include "store/query_syntax.h"
#include "store/table_writer.h"

namespace nl::store {
namespace {

Error user_error(std::string message, std::string hint = {}) {
  return Error{ErrorCode::kBadInput, std::move(message), std::move(hint)};
}

Error not_one_select(std::string message) {
  return Error{ErrorCode::kBadInput,
               std::move(message),
               "only one SELECT statement is allowed; the tables are listed by: {}",
               {{"schema"}}};
}

/// Without the semicolon at the end, because the text may be embedded in another statement.
std::string without_end(std::string sql) {
  while (!sql.empty() && (isspace(static_cast<unsigned char>(sql.back())) != 0 || sql.back() == ';'))
    sql.pop_back();
  return sql;
}

/// Interrupts the query when its time is over or the caller has cancelled it.
class Watchdog {
 public:
  Watchdog(duckdb_connection connection, const QueryLimits& limits)
      : connection_(connection), limits_(limits), thread_([this] { return watch(); }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
      changed_.notify_all();
    }
    (void)thread_.join();
  }
  bool fired() {
    const std::lock_guard lock(mutex_);
    return fired_;
  }

 private:
  Result<void> watch() {
    using Steady = std::chrono::steady_clock;
    const auto end = Steady::now() + std::chrono::seconds(limits_.seconds);
    std::unique_lock lock(mutex_);
    while (!done_ && !fired_) {
      changed_.wait_for(lock, std::chrono::milliseconds(50));
      fired_ = !done_ && (Steady::now() > end || limits_.cancelled());
    }
    if (fired_) duckdb_interrupt(connection_);
    return {};
  }

  duckdb_connection connection_;
  const QueryLimits& limits_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  bool fired_ = false;
  CheckedThread thread_;
};

/// A temporary file without a name: nothing remains of it, however the process ends.
class NamelessFile {
 public:
  static Result<NamelessFile> create(const std::string& folder) {
    std::string path = folder + "/neurolens-query-XXXXXX";
    const int fd = ::mkostemp(path.data(), O_CLOEXEC);
    if (fd < 0) return errno_error("cannot create", path, errno);
    ::unlink(path.c_str());
    return NamelessFile(fd);
  }
  NamelessFile(NamelessFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  NamelessFile& operator=(NamelessFile&&) = delete;
  ~NamelessFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }
  /// A path by which this process can open the file again.
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  explicit NamelessFile(int fd) : fd_(fd) {}
  int fd_;
};

/// An engine that can read the run's files and nothing else.
class Confined {
 public:
  static Result<std::unique_ptr<Confined>> open(EngineStart& start, const RunFiles& files,
                                                const std::string& sql, const QueryLimits& limits,
                                                const NamelessFile* output) {
    auto self = std::make_unique<Confined>();
    NL_TRY(self->engine_, start.get());
    limits.confine(output == nullptr ? -1 : output->fd());
    NL_TRY(Connection connection, self->engine_->connect());
    self->connection_.emplace(std::move(connection));
    std::string paths;
    for (const auto& path : parquet_files(files)) paths += (paths.empty() ? "" : ", ") + sql_quoted(path);
    if (output != nullptr) paths += (paths.empty() ? "" : ", ") + sql_quoted(output->path());
    Connection& c = *self->connection_;
    NL_CHECK(c.run("SET threads = " + std::to_string(std::max(1, limits.threads))));
    // The order matters: the allowed paths cannot be changed once external access is off, and nothing can be
    // changed once the configuration is locked.
    NL_CHECK(c.run("SET allowed_paths = [" + paths + "]"));
    NL_CHECK(c.run("SET parquet_metadata_cache = true"));  // the views and the query read the same footers
    const QuerySyntax syntax = examine_query(c, sql);
    if (!syntax.refused.empty()) return not_one_select(syntax.refused);
    NL_CHECK(create_views(c, files, syntax.mentions_links, syntax.tables, ViewScope::kEngine));
    self->is_select_ = syntax.is_select;
    NL_CHECK(c.run("SET enable_external_access = false"));
    NL_CHECK(c.run("SET lock_configuration = true"));
    return self;
  }
  Connection& connection() { return *connection_; }
  bool is_select() const { return is_select_; }

 private:
  std::shared_ptr<Engine> engine_;
  std::optional<Connection> connection_;
  bool is_select_ = false;
};

class Statement {
 public:
  Statement() = default;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() {
    duckdb_destroy_prepare(&prepared_);
    duckdb_destroy_extracted(&extracted_);
  }

  /// Planning executes parts of a statement, so one that is no SELECT does not get that far.
  Result<void> prepare(Connection& connection, const std::string& sql, bool is_select) {
    const idx_t count = duckdb_extract_statements(connection.raw(), sql.c_str(), &extracted_);
    if (count == 0) {
      const char* fault = duckdb_extract_statements_error(extracted_);
      return not_one_select(fault == nullptr ? "there is no statement" : fault);
    }
    if (count != 1) return not_one_select("several statements");
    if (!is_select) return not_one_select("not a SELECT");
    if (duckdb_prepare_extracted_statement(connection.raw(), extracted_, 0, &prepared_) != DuckDBSuccess) {
      return user_error(duckdb_prepare_error(prepared_));
    }
    if (duckdb_prepared_statement_type(prepared_) != DUCKDB_STATEMENT_TYPE_SELECT) {
      return not_one_select("not a SELECT");
    }
    if (duckdb_nparams(prepared_) != 0)
      return user_error("the query has parameters", "write the values into the query");
    return {};
  }
  duckdb_prepared_statement raw() { return prepared_; }

 private:
  duckdb_extracted_statements extracted_ = nullptr;
  duckdb_prepared_statement prepared_ = nullptr;
};

bool is_native(duckdb_type type) {
  switch (type) {
    case DUCKDB_TYPE_BOOLEAN:
    case DUCKDB_TYPE_TINYINT:
    case DUCKDB_TYPE_SMALLINT:
    case DUCKDB_TYPE_INTEGER:
    case DUCKDB_TYPE_BIGINT:
    case DUCKDB_TYPE_UTINYINT:
    case DUCKDB_TYPE_USMALLINT:
    case DUCKDB_TYPE_UINTEGER:
    case DUCKDB_TYPE_UBIGINT:
    case DUCKDB_TYPE_HUGEINT:
    case DUCKDB_TYPE_FLOAT:
    case DUCKDB_TYPE_DOUBLE:
    case DUCKDB_TYPE_VARCHAR:
      return true;
    default:
      return false;
  }
}

CellKind kind_of(duckdb_type type) {
  if (type == DUCKDB_TYPE_BOOLEAN) return CellKind::kBoolean;
  if (type == DUCKDB_TYPE_FLOAT || type == DUCKDB_TYPE_DOUBLE) return CellKind::kDouble;
  const bool is_wide = type == DUCKDB_TYPE_HUGEINT || type == DUCKDB_TYPE_UBIGINT;
  if (type == DUCKDB_TYPE_DECIMAL || type == DUCKDB_TYPE_UHUGEINT || is_wide) return CellKind::kNumber;
  return is_native(type) && type != DUCKDB_TYPE_VARCHAR ? CellKind::kInteger : CellKind::kText;
}

__extension__ typedef unsigned __int128 uint128;

std::string hugeint_text(duckdb_hugeint value) {
  uint128 magnitude = (static_cast<uint128>(static_cast<uint64_t>(value.upper)) << 64) | value.lower;
  const bool negative = value.upper < 0;
  if (negative) magnitude = ~magnitude + 1;
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(magnitude % 10)));
    magnitude /= 10;
  } while (magnitude != 0);
  return negative ? "-" + digits : digits;
}

/// The shortest text that reads back as the same number.
template <class T>
std::string number_text(T value) {
  std::array<char, 64> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

template <class T>
T at(void* data, size_t row) {
  return static_cast<T*>(data)[row];
}

/// Appends the text of a value; false for NaN and infinity, which are shown as NULL.
bool append_value(std::string& out, duckdb_type type, void* data, size_t row) {
  switch (type) {
    case DUCKDB_TYPE_BOOLEAN:
      out += at<bool>(data, row) ? "true" : "false";
      return true;
    case DUCKDB_TYPE_TINYINT:
      out += number_text(int{at<int8_t>(data, row)});
      return true;
    case DUCKDB_TYPE_SMALLINT:
      out += number_text(at<int16_t>(data, row));
      return true;
    case DUCKDB_TYPE_INTEGER:
      out += number_text(at<int32_t>(data, row));
      return true;
    case DUCKDB_TYPE_BIGINT:
      out += number_text(at<int64_t>(data, row));
      return true;
    case DUCKDB_TYPE_UTINYINT:
      out += number_text(unsigned{at<uint8_t>(data, row)});
      return true;
    case DUCKDB_TYPE_USMALLINT:
      out += number_text(at<uint16_t>(data, row));
      return true;
    case DUCKDB_TYPE_UINTEGER:
      out += number_text(at<uint32_t>(data, row));
      return true;
    case DUCKDB_TYPE_UBIGINT:
      out += number_text(at<uint64_t>(data, row));
      return true;
    case DUCKDB_TYPE_HUGEINT:
      out += hugeint_text(at<duckdb_hugeint>(data, row));
      return true;
    case DUCKDB_TYPE_FLOAT:
      out += number_text(at<float>(data, row));
      return std::isfinite(at<float>(data, row));
    case DUCKDB_TYPE_DOUBLE:
      out += number_text(at<double>(data, row));
      return std::isfinite(at<double>(data, row));
    default: {
      auto cell = at<duckdb_string_t>(data, row);
      const auto length = duckdb_string_t_length(cell);
      out.append(duckdb_string_t_data(&static_cast<duckdb_string_t*>(data)[row]), length);
      return true;
    }
  }
}

struct Shape {
  std::vector<ResultColumn> columns;
  std::vector<duckdb_type> types;
  bool native = true;
};

Shape shape_of(duckdb_prepared_statement prepared) {
  Shape shape;
  for (idx_t i = 0; i < duckdb_prepared_statement_column_count(prepared); i++) {
    const char* name = duckdb_prepared_statement_column_name(prepared, i);
    const duckdb_type type = duckdb_prepared_statement_column_type(prepared, i);
    shape.columns.push_back({name, kind_of(type)});
    shape.types.push_back(type);
    shape.native = shape.native && is_native(type);
    duckdb_free(const_cast<char*>(name));
  }
  return shape;
}

/// Lets the engine cast the types that append_value() does not know (lists, dates, decimals, ...). Columns
/// are referred to by position, because names may repeat. The line breaks around the query end a comment in
/// its last line, which would otherwise hide the bracket.
std::string with_casts(const std::string& sql, const Shape& shape) {
  std::string select;
  for (size_t i = 0; i < shape.types.size(); i++) {
    const std::string column = "#" + std::to_string(i + 1);
    select += (i == 0 ? "" : ", ") + (is_native(shape.types[i]) ? column : "CAST(" + column + " AS VARCHAR)");
  }
  return "SELECT " + select + " FROM (\n" + sql + "\n)";
}

Result<void> emit_chunk(duckdb_data_chunk chunk, const std::vector<duckdb_type>& types,
                        const QuerySink& sink) {
  const size_t columns = types.size();
  std::vector<void*> data(columns);
  std::vector<uint64_t*> valid(columns);
  for (size_t c = 0; c < columns; c++) {
    duckdb_vector vector = duckdb_data_chunk_get_vector(chunk, c);
    data[c] = duckdb_vector_get_data(vector);
    valid[c] = duckdb_vector_get_validity(vector);
  }
  std::vector<Cell> cells(columns);
  std::vector<size_t> ends(columns);
  std::string text;
  for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk); row++) {
    text.clear();
    for (size_t c = 0; c < columns; c++) {
      cells[c].is_null = valid[c] != nullptr && !duckdb_validity_row_is_valid(valid[c], row);
      if (!cells[c].is_null) cells[c].is_null = !append_value(text, types[c], data[c], row);
      ends[c] = text.size();
    }
    for (size_t c = 0; c < columns; c++) {
      const size_t begin = c == 0 ? 0 : ends[c - 1];
      cells[c].text = std::string_view(text).substr(begin, ends[c] - begin);
    }
    NL_CHECK(sink.row(cells));
  }
  return {};
}

Error query_failed(const char* message, Watchdog& watchdog, const QueryLimits& limits) {
  if (limits.cancelled()) return cancelled_error();
  if (watchdog.fired()) {
    return Error{ErrorCode::kLimit, "the query took longer than " + std::to_string(limits.seconds) + " s",
                 ""};
  }
  const std::string text = message == nullptr ? "the query failed" : message;
  if (text.find("INT128") != std::string::npos) {
    return user_error(text, "a whole number that 64 bits cannot hold: cast it to DOUBLE or VARCHAR");
  }
  if (text.find("is missing or damaged") != std::string::npos) {
    return Error{ErrorCode::kIo, text, "{} says what is wrong", {{"verify", R"({"run": "RUN"})"}}};
  }
  if (text.find("Out of Memory") != std::string::npos) {
    return Error{ErrorCode::kLimit, "the query takes too much memory", "ask for fewer rows or columns"};
  }
  return user_error(text);
}

Result<void> stream_rows(Statement& statement, const std::vector<duckdb_type>& types, Watchdog& watchdog,
                         const QueryLimits& limits, const QuerySink& sink) {
  duckdb_pending_result pending = nullptr;
  duckdb_result result{};
  Result<void> done;
  if (duckdb_pending_prepared_streaming(statement.raw(), &pending) != DuckDBSuccess) {
    done = query_failed(duckdb_pending_error(pending), watchdog, limits);
  } else if (duckdb_execute_pending(pending, &result) != DuckDBSuccess) {
    done = query_failed(duckdb_result_error(&result), watchdog, limits);
  } else {
    while (done) {
      duckdb_data_chunk chunk = duckdb_fetch_chunk(result);
      if (chunk == nullptr) break;
      done = emit_chunk(chunk, types, sink);
      duckdb_destroy_data_chunk(&chunk);
    }
    const char* failed = duckdb_result_error(&result);
    if (done && failed != nullptr && *failed != '\0') done = query_failed(failed, watchdog, limits);
  }
  duckdb_destroy_result(&result);
  duckdb_destroy_pending(&pending);
  return done;
}

/// Makes the names of the result columns unique, which JSON objects and Parquet files require.
void make_unique(std::vector<ResultColumn>& columns) {
  std::set<std::string> taken;
  for (auto& column : columns) {
    std::string name = column.name;
    for (int n = 1; taken.contains(name); n++) name = column.name + "_" + std::to_string(n);
    taken.insert(name);
    column.name = name;
  }
}

/// Sums of integers have 128 bits. Parquet has no such type, and the engine would round them to double. So
/// they are cast to 64 bits; a sum that does not fit is an error and never a rounded number.
std::string with_exact_sums(const std::string& sql, const Shape& shape) {
  std::string select;
  for (size_t i = 0; i < shape.types.size(); i++) {
    const std::string column = "#" + std::to_string(i + 1);
    const bool wide = shape.types[i] == DUCKDB_TYPE_HUGEINT || shape.types[i] == DUCKDB_TYPE_UHUGEINT;
    select += (i == 0 ? "" : ", ") + (wide ? "CAST(" + column + " AS BIGINT)" : column) + " AS " +
              sql_identifier(shape.columns[i].name);
  }
  return "SELECT " + select + " FROM (\n" + sql + "\n)";
}

Result<void> prepare_select(Confined& confined, Statement& statement, const std::string& sql,
                            Watchdog& watchdog, const QueryLimits& limits) {
  const auto prepared = statement.prepare(confined.connection(), sql, confined.is_select());
  if (!prepared && (watchdog.fired() || limits.cancelled())) return query_failed(nullptr, watchdog, limits);
  return prepared;
}

Result<void> copy_file(const std::string& path, const std::function<Result<void>(std::string_view)>& bytes) {
  NL_TRY(File file, File::open_to_read(path));
  std::vector<char> piece(1 << 18);
  for (;;) {
    NL_TRY(const size_t n, file.read(piece.data(), piece.size()));
    if (n == 0) return {};
    NL_CHECK(bytes({piece.data(), n}));
  }
}

Result<void> write_parquet(EngineStart& start, const RunFiles& files, const std::string& given,
                           const QueryLimits& limits, const NamelessFile& output) {
  const std::string sql = without_end(given);
  NL_TRY(const auto confined, Confined::open(start, files, sql, limits, &output));
  Watchdog watchdog(confined->connection().raw(), limits);
  Shape shape;
  {
    Statement statement;  // the text must be one SELECT by itself before it is put into a COPY
    NL_CHECK(prepare_select(*confined, statement, sql, watchdog, limits));
    shape = shape_of(statement.raw());
  }
  make_unique(shape.columns);
  const auto copied =
      confined->connection().run("COPY (" + with_exact_sums(sql, shape) + ") TO " +
                                 sql_quoted(output.path()) + " (FORMAT parquet, USE_TMP_FILE false)");
  if (!copied) return query_failed(copied.error().message.c_str(), watchdog, limits);
  return {};
}

}  // namespace

Result<void> run_user_query(EngineStart& start, const RunFiles& files, const std::string& given,
                            const QueryLimits& limits, const QuerySink& sink) {
  const std::string sql = without_end(given);
  NL_TRY(const auto confined, Confined::open(start, files, sql, limits, nullptr));
  Watchdog watchdog(confined->connection().raw(), limits);
  Statement statement;
  NL_CHECK(prepare_select(*confined, statement, sql, watchdog, limits));
  Shape shape = shape_of(statement.raw());
  make_unique(shape.columns);
  NL_CHECK(sink.columns(shape.columns));
  if (shape.native) return stream_rows(statement, shape.types, watchdog, limits, sink);
  Statement cast;
  NL_CHECK(cast.prepare(confined->connection(), with_casts(sql, shape), true));
  return stream_rows(cast, shape_of(cast.raw()).types, watchdog, limits, sink);
}

Result<void> stream_user_query_as_parquet(EngineStart& start, const RunFiles& files, const std::string& sql,
                                          const QueryLimits& limits,
                                          const std::function<Result<void>(std::string_view)>& bytes) {
  NL_TRY(const NamelessFile file, NamelessFile::create(limits.temp_folder));
  NL_CHECK(write_parquet(start, files, sql, limits, file));
  return copy_file(file.path(), bytes);
}

}  // namespace nl::store
