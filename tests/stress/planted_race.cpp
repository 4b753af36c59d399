#include "stress/planted_race.h"

#include <duckdb.h>

#include <atomic>

namespace nl::stress {
namespace {

constexpr idx_t kThreads = 4;
constexpr idx_t kChunks = 2000;

long unguarded_rows = 0;
std::atomic<idx_t> chunks = 0;

void bind(duckdb_bind_info info) {
  duckdb_logical_type type = duckdb_create_logical_type(DUCKDB_TYPE_BIGINT);
  duckdb_bind_add_result_column(info, "n", type);
  duckdb_destroy_logical_type(&type);
}

void init(duckdb_init_info info) {
  duckdb_init_set_max_threads(info, kThreads);
}

/// Called by several threads of the engine at once.
void fill(duckdb_function_info, duckdb_data_chunk output) {
  const idx_t rows = chunks++ < kChunks ? duckdb_vector_size() : 0;
  auto* values = static_cast<int64_t*>(duckdb_vector_get_data(duckdb_data_chunk_get_vector(output, 0)));
  for (idx_t row = 0; row < rows; row++) values[row] = static_cast<int64_t>(row);
  unguarded_rows += static_cast<long>(rows);
  duckdb_data_chunk_set_size(output, rows);
}

void add_function(duckdb_connection connection) {
  duckdb_table_function function = duckdb_create_table_function();
  duckdb_table_function_set_name(function, "planted_race");
  duckdb_table_function_set_bind(function, bind);
  duckdb_table_function_set_init(function, init);
  duckdb_table_function_set_function(function, fill);
  duckdb_register_table_function(connection, function);
  duckdb_destroy_table_function(&function);
}

}  // namespace

long count_rows_without_a_lock() {
  duckdb_database database = nullptr;
  duckdb_connection connection = nullptr;
  duckdb_open(nullptr, &database);
  duckdb_connect(database, &connection);
  duckdb_query(connection, "SET threads = 4", nullptr);
  add_function(connection);
  duckdb_query(connection, "SELECT sum(n) FROM planted_race()", nullptr);
  duckdb_disconnect(&connection);
  duckdb_close(&database);
  return unguarded_rows;
}

}  // namespace nl::stress
