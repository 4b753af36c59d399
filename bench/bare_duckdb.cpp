// What a query costs with DuckDB alone: opens an empty database in memory, runs one statement and prints its
// rows as CSV. bench/run builds it with the DuckDB archive of the product.
// usage: bare_duckdb THREADS SQL

#include <duckdb.h>

#include <cstdio>

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: bare_duckdb THREADS SQL\n");
    return 2;
  }
  duckdb_config config = nullptr;
  duckdb_create_config(&config);
  duckdb_set_config(config, "threads", arguments[1]);
  duckdb_database database = nullptr;
  duckdb_connection connection = nullptr;
  char* message = nullptr;
  if (duckdb_open_ext(nullptr, &database, config, &message) != DuckDBSuccess ||
      duckdb_connect(database, &connection) != DuckDBSuccess) {
    std::fprintf(stderr, "bare_duckdb: %s\n", message == nullptr ? "cannot connect" : message);
    return 1;
  }
  duckdb_destroy_config(&config);

  duckdb_result result;
  if (duckdb_query(connection, arguments[2], &result) != DuckDBSuccess) {
    std::fprintf(stderr, "bare_duckdb: %s\n", duckdb_result_error(&result));
    return 1;
  }
  const idx_t columns = duckdb_column_count(&result);
  const idx_t rows = duckdb_row_count(&result);
  for (idx_t row = 0; row < rows; row++) {
    for (idx_t column = 0; column < columns; column++) {
      char* text = duckdb_value_varchar(&result, column, row);
      std::printf("%s%s", column == 0 ? "" : ",", text == nullptr ? "" : text);
      duckdb_free(text);
    }
    std::printf("\n");
  }
  duckdb_destroy_result(&result);
  duckdb_disconnect(&connection);
  duckdb_close(&database);
  return 0;
}
