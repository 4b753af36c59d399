#pragma once
// Engine: one DuckDB database in memory. Only engine.cpp, table_writer.cpp and user_query.cpp use the DuckDB
// API. Threads may share an Engine, but each takes its own Connection. If the call that made a connection is
// cancelled, its statement soon ends with `cancelled` (base/call_control.h).

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/call_control.h"
#include "base/checked_thread.h"
#include "base/result.h"

struct _duckdb_database;
struct _duckdb_connection;
struct _duckdb_data_chunk;
struct _duckdb_appender;

namespace nl::store {

struct EngineOptions {
  int threads = 1;
  int memory_mb = 256;
  std::string temp_folder = {};  ///< where joins and sorts spill; none: they fail above the limit
  bool operator==(const EngineOptions&) const = default;
};

/// The texts of one column of a chunk.
class TextCells {
 public:
  TextCells(const void* cells, const uint64_t* valid) : cells_(cells), valid_(valid) {}
  bool is_null(size_t row) const { return valid_ != nullptr && (valid_[row / 64] >> (row % 64) & 1) == 0; }
  /// Of a cell that is not NULL.
  std::string_view operator[](size_t row) const;

 private:
  const void* cells_;
  const uint64_t* valid_;
};

/// A piece of a result. Valid inside the callback that gets it.
class Chunk {
 public:
  explicit Chunk(_duckdb_data_chunk* chunk) : chunk_(chunk) {}
  size_t size() const;
  /// Values of a BIGINT column; cells that are NULL hold anything.
  const int64_t* int64s(size_t column) const;
  const int32_t* int32s(size_t column) const;
  const double* doubles(size_t column) const;
  std::string_view text(size_t column, size_t row) const;
  TextCells texts(size_t column) const;
  bool is_null(size_t column, size_t row) const;
  /// Bit n: row n has a value; nullptr if all have.
  const uint64_t* validity(size_t column) const;

 private:
  _duckdb_data_chunk* chunk_;
};

/// Appends rows to a table of the engine. Check end_row and finish.
class Appender {
 public:
  explicit Appender(_duckdb_appender* appender) : appender_(appender) {}
  Appender(Appender&& other) noexcept : appender_(other.appender_) { other.appender_ = nullptr; }
  Appender& operator=(Appender&&) = delete;
  ~Appender();
  void add(int64_t value);  ///< kNull is NULL
  void add(int32_t value);
  Result<void> end_row();
  Result<void> finish();

 private:
  _duckdb_appender* appender_;
};

class Connection {
 public:
  Connection(_duckdb_database* database, _duckdb_connection* connection);
  Connection(Connection&& other) noexcept
      : database_(other.database_), connection_(other.connection_), on_cancel_(std::move(other.on_cancel_)) {
    other.connection_ = nullptr;
  }
  Connection& operator=(Connection&&) = delete;
  ~Connection();

  Result<void> run(const std::string& sql);
  /// Streams the result of one statement, chunk by chunk.
  Result<void> stream(const std::string& sql, const std::function<Result<void>(const Chunk&)>& each);
  /// The single integer that the statement yields; NULL is an error.
  Result<int64_t> integer(const std::string& sql);
  /// Names of the columns that the statement would yield.
  Result<std::vector<std::string>> column_names(const std::string& sql);
  Result<Appender> append_to(const std::string& table);
  /// A second connection to the same engine, to write while this one reads.
  Result<Connection> another();
  _duckdb_connection* raw() { return connection_; }

 private:
  _duckdb_database* database_;
  _duckdb_connection* connection_;
  std::unique_ptr<CancelHook> on_cancel_;
};

class Engine {
 public:
  static Result<std::shared_ptr<Engine>> open(const EngineOptions& options);
  static Result<std::unique_ptr<Engine>> start(const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Result<Connection> connect();

 private:
  explicit Engine(_duckdb_database* database) : database_(database) {}
  _duckdb_database* database_;
};

/// Gets an engine aside, so that its start (some 12 ms) overlaps with finding out what to ask it.
class EngineStart {
 public:
  /// One of its own, for a caller that changes its settings.
  explicit EngineStart(EngineOptions options)
      : engine_(std::async(std::launch::async, [options] {
                  return without_exceptions([&] { return Engine::open(options); });
                }).share()) {}
  /// One of the pool (store/engine_pool.h).
  static EngineStart leased(const EngineOptions& options);
  /// The same, but only once somebody waits for it.
  static EngineStart leased_when_needed(const EngineOptions& options);
  /// Waits for it. Copies get the same one.
  Result<std::shared_ptr<Engine>> get() const { return engine_.get(); }

 private:
  using Engines = std::shared_future<Result<std::shared_ptr<Engine>>>;
  explicit EngineStart(Engines engine) : engine_(std::move(engine)) {}
  Engines engine_;
};

/// 'text' with quotes doubled.
std::string sql_quoted(std::string_view text);
/// A name as SQL, in double quotes.
std::string sql_identifier(std::string_view name);

}  // namespace nl::store
