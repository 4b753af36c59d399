#include "store/engine.h"

#include <duckdb.h>

#include "model/batch.h"
#include "store/engine_pool.h"
#include "store/read_counts.h"

namespace nl::store {
namespace {

Error engine_error(std::string message) {
  // An appender words an interruption its own way, so the call itself is asked too.
  if (message.starts_with("INTERRUPT Error") || is_cancelled()) return cancelled_error();
  const bool memory = message.find("Out of Memory") != std::string::npos;
  const bool disk = message.find("No space left") != std::string::npos;
  const bool io = message.starts_with("IO Error");
  if (message.find("is missing or damaged") != std::string::npos) {
    return Error{
        ErrorCode::kIo, std::move(message), "{} says what is wrong", {{"verify", R"({"run": "RUN"})"}}};
  }
  if (message.starts_with("Out of Range Error")) {
    return Error{ErrorCode::kBadInput, "a time or figure of the run does not fit into 64 bits: " + message};
  }
  const bool unreadable = message.starts_with("Invalid Input Error: Failed to read file") ||
                          message.find("TProtocolException") != std::string::npos;
  if (unreadable) {
    return Error{ErrorCode::kIo,
                 "a table of the run is damaged: " + message,
                 "{} says what is wrong",
                 {{"verify", R"({"run": "RUN"})"}}};
  }
  if (disk) {
    return Error{ErrorCode::kIo, std::move(message),
                 "the disk is full; free some space or choose another ledger"};
  }
  const ErrorCode code = memory ? ErrorCode::kLimit : io ? ErrorCode::kIo : ErrorCode::kInternal;
  return Error{code, "engine: " + std::move(message), ""};
}

struct ResultGuard {
  duckdb_result result{};
  ~ResultGuard() { duckdb_destroy_result(&result); }
};

struct StatementGuard {
  duckdb_prepared_statement statement = nullptr;
  ~StatementGuard() { duckdb_destroy_prepare(&statement); }
};

struct PendingGuard {
  duckdb_pending_result pending = nullptr;
  ~PendingGuard() { duckdb_destroy_pending(&pending); }
};

struct ChunkGuard {
  duckdb_data_chunk chunk;
  ~ChunkGuard() { duckdb_destroy_data_chunk(&chunk); }
};

/// A view is made of tables, but reads nothing yet.
void count_statement(const std::string& sql) {
  if (!sql.starts_with("CREATE")) count_passes(sql);
}

duckdb_data_chunk raw(_duckdb_data_chunk* chunk) {
  return chunk;
}

std::shared_future<Result<std::shared_ptr<Engine>>> lease_engine(std::launch when,
                                                                 const EngineOptions& options) {
  return std::async(
             when,
             [options] { return without_exceptions([&] { return EnginePool::shared().lease(options); }); })
      .share();
}

}  // namespace

size_t Chunk::size() const {
  return duckdb_data_chunk_get_size(raw(chunk_));
}

const int64_t* Chunk::int64s(size_t column) const {
  return static_cast<const int64_t*>(duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk_, column)));
}

const int32_t* Chunk::int32s(size_t column) const {
  return static_cast<const int32_t*>(duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk_, column)));
}

const double* Chunk::doubles(size_t column) const {
  return static_cast<const double*>(duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk_, column)));
}

std::string_view Chunk::text(size_t column, size_t row) const {
  auto* strings =
      static_cast<duckdb_string_t*>(duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk_, column)));
  return {duckdb_string_t_data(&strings[row]), duckdb_string_t_length(strings[row])};
}

TextCells Chunk::texts(size_t column) const {
  return {duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk_, column)), validity(column)};
}

std::string_view TextCells::operator[](size_t row) const {
  const auto& cell = static_cast<const duckdb_string_t*>(cells_)[row];
  const uint32_t length = cell.value.inlined.length;
  return {length <= sizeof(cell.value.inlined.inlined) ? cell.value.inlined.inlined : cell.value.pointer.ptr,
          length};
}

bool Chunk::is_null(size_t column, size_t row) const {
  uint64_t* valid = duckdb_vector_get_validity(duckdb_data_chunk_get_vector(chunk_, column));
  return valid != nullptr && !duckdb_validity_row_is_valid(valid, row);
}

const uint64_t* Chunk::validity(size_t column) const {
  return duckdb_vector_get_validity(duckdb_data_chunk_get_vector(chunk_, column));
}

Appender::~Appender() {
  duckdb_appender appender = appender_;
  if (appender != nullptr) duckdb_appender_destroy(&appender);
}

void Appender::add(int64_t value) {
  if (value == model::kNull) {
    duckdb_append_null(appender_);
  } else {
    duckdb_append_int64(appender_, value);
  }
}

void Appender::add(int32_t value) {
  duckdb_append_int32(appender_, value);
}

Result<void> Appender::end_row() {
  if (duckdb_appender_end_row(appender_) == DuckDBSuccess) return {};
  return engine_error(duckdb_appender_error(appender_));
}

Result<void> Appender::finish() {
  if (duckdb_appender_close(appender_) == DuckDBSuccess) return {};
  return engine_error(duckdb_appender_error(appender_));
}

Connection::Connection(_duckdb_database* database, _duckdb_connection* connection)
    : database_(database),
      connection_(connection),
      on_cancel_(std::make_unique<CancelHook>([connection] { duckdb_interrupt(connection); })) {}

Connection::~Connection() {
  on_cancel_.reset();
  duckdb_connection connection = connection_;
  if (connection != nullptr) duckdb_disconnect(&connection);
}

Result<void> Connection::run(const std::string& sql) {
  NL_CHECK(check_cancelled());
  count_statement(sql);
  ResultGuard r;
  if (duckdb_query(connection_, sql.c_str(), &r.result) != DuckDBSuccess) {
    return engine_error(duckdb_result_error(&r.result));
  }
  return {};
}

Result<void> Connection::stream(const std::string& sql,
                                const std::function<Result<void>(const Chunk&)>& each) {
  NL_CHECK(check_cancelled());
  count_statement(sql);
  StatementGuard s;
  if (duckdb_prepare(connection_, sql.c_str(), &s.statement) != DuckDBSuccess) {
    return engine_error(duckdb_prepare_error(s.statement));
  }
  PendingGuard p;
  if (duckdb_pending_prepared_streaming(s.statement, &p.pending) != DuckDBSuccess) {
    return engine_error(duckdb_pending_error(p.pending));
  }
  ResultGuard r;
  if (duckdb_execute_pending(p.pending, &r.result) != DuckDBSuccess) {
    return engine_error(duckdb_result_error(&r.result));
  }
  for (;;) {
    duckdb_data_chunk chunk = duckdb_fetch_chunk(r.result);
    if (chunk == nullptr) break;
    const ChunkGuard guard{chunk};
    NL_CHECK(check_cancelled());
    NL_CHECK(each(Chunk(chunk)));
  }
  const char* failed = duckdb_result_error(&r.result);
  if (failed != nullptr && *failed != '\0') return engine_error(failed);
  return {};
}

Result<int64_t> Connection::integer(const std::string& sql) {
  int64_t value = 0;
  bool found = false;
  NL_CHECK(stream("SELECT (" + sql + ")::BIGINT", [&](const Chunk& chunk) -> Result<void> {
    if (chunk.size() > 0 && !chunk.is_null(0, 0)) {
      value = chunk.int64s(0)[0];
      found = true;
    }
    return {};
  }));
  if (!found) return Error{ErrorCode::kInternal, "engine: no value from: " + sql};
  return value;
}

Result<Appender> Connection::append_to(const std::string& table) {
  duckdb_appender appender = nullptr;
  if (duckdb_appender_create(connection_, nullptr, table.c_str(), &appender) == DuckDBSuccess)
    return Appender(appender);
  Error error = engine_error(appender == nullptr ? "cannot append" : duckdb_appender_error(appender));
  duckdb_appender_destroy(&appender);
  return error;
}

Result<Connection> Connection::another() {
  duckdb_connection connection = nullptr;
  if (duckdb_connect(database_, &connection) != DuckDBSuccess) return engine_error("cannot connect");
  return Connection(database_, connection);
}

Result<std::vector<std::string>> Connection::column_names(const std::string& sql) {
  StatementGuard s;
  if (duckdb_prepare(connection_, sql.c_str(), &s.statement) != DuckDBSuccess) {
    return engine_error(duckdb_prepare_error(s.statement));
  }
  std::vector<std::string> names;
  for (idx_t i = 0; i < duckdb_prepared_statement_column_count(s.statement); i++) {
    const char* name = duckdb_prepared_statement_column_name(s.statement, i);
    names.emplace_back(name);
    duckdb_free(const_cast<char*>(name));
  }
  return names;
}

Result<std::shared_ptr<Engine>> Engine::open(const EngineOptions& options) {
  NL_TRY(auto engine, start(options));
  return std::shared_ptr<Engine>(std::move(engine));
}

EngineStart EngineStart::leased(const EngineOptions& options) {
  return EngineStart(lease_engine(std::launch::async, options));
}

EngineStart EngineStart::leased_when_needed(const EngineOptions& options) {
  return EngineStart(lease_engine(std::launch::deferred, options));
}

Result<std::unique_ptr<Engine>> Engine::start(const EngineOptions& options) {
  count_engine();
  duckdb_config config = nullptr;
  duckdb_create_config(&config);
  duckdb_set_config(config, "threads", std::to_string(options.threads).c_str());
  duckdb_set_config(config, "memory_limit", (std::to_string(options.memory_mb) + "MB").c_str());
  duckdb_set_config(config, "temp_directory", options.temp_folder.c_str());
  duckdb_set_config(config, "autoinstall_known_extensions", "false");
  duckdb_set_config(config, "autoload_known_extensions", "false");
  duckdb_database database = nullptr;
  char* message = nullptr;
  const bool opened = duckdb_open_ext(nullptr, &database, config, &message) == DuckDBSuccess;
  duckdb_destroy_config(&config);
  if (!opened) {
    Error error = engine_error(message != nullptr ? message : "cannot open");
    duckdb_free(message);
    return error;
  }
  return std::unique_ptr<Engine>(new Engine(database));
}

Engine::~Engine() {
  duckdb_database database = database_;
  duckdb_close(&database);
}

Result<Connection> Engine::connect() {
  duckdb_connection connection = nullptr;
  if (duckdb_connect(database_, &connection) != DuckDBSuccess) return engine_error("cannot connect");
  return Connection(database_, connection);
}

static std::string in_quotes(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    out += c;
    if (c == quote) out += c;
  }
  return out + quote;
}

std::string sql_quoted(std::string_view text) {
  return in_quotes(text, '\'');
}

std::string sql_identifier(std::string_view name) {
  return in_quotes(name, '"');
}

}  // namespace nl::store
