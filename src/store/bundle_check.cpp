#include "store/bundle_check.h"

#include <algorithm>

#include "base/files.h"
#include "base/json.h"
#include "model/tables.h"
#include "store/bundle_writer.h"
#include "store/engine_pool.h"
#include "store/parquet_footer.h"
#include "store/run_document.h"

namespace nl::store {
namespace {

using nlohmann::json;

/// Empty if the column is one of the table.
std::string column_fault(const model::Table& table, std::string_view name, std::string_view type) {
  const auto it = std::find_if(table.columns.begin(), table.columns.end(),
                               [&](const model::Column& column) { return column.name == name; });
  if (it == table.columns.end()) return "no such column: " + std::string(name);
  const std::string_view expected = model::sql_type(it->type);
  if (expected == type) return "";
  return "expected column " + std::string(name) + " of type " + std::string(expected) + ", found " +
         std::string(type);
}

void check_columns(Connection& connection, const model::Table& table, const std::string& path,
                   const std::string& pointer, std::vector<JsonFault>& faults) {
  if (const auto checked = check_parquet_file(path); !checked)
    return faults.push_back({pointer, checked.error().message});
  const auto read = connection.stream(
      "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM read_parquet(" + sql_quoted(path) + "))",
      [&](const Chunk& chunk) -> Result<void> {
        for (size_t row = 0; row < chunk.size(); row++) {
          const std::string fault = column_fault(table, chunk.text(0, row), chunk.text(1, row));
          if (!fault.empty()) faults.push_back({pointer, fault});
        }
        return {};
      });
  if (!read) faults.push_back({pointer, "expected a Parquet file: " + path});
}

}  // namespace

Result<std::vector<JsonFault>> bundle_faults(const std::string& folder, size_t most) {
  NL_TRY(const json document, read_run_document_quickly(folder + "/run.json"));
  NL_TRY(auto faults, run_document_faults(document, most));
  if (!faults.empty()) return faults;
  NL_TRY(const auto engine, EnginePool::shared().lease({1, 256, ""}));
  NL_TRY(auto connection, engine->connect());
  for (size_t t = 0; t < document["tables"].size(); t++) {
    const std::string name = document["tables"][t]["name"];
    const std::string pointer = "/tables/" + std::to_string(t);
    const model::Table* const table = model::find_table(name);
    if (table != nullptr && table->kind == model::TableKind::fact) {
      check_columns(connection, *table, folder + "/" + table_file_name(name), pointer, faults);
    } else {
      faults.push_back({pointer + "/name", "no such table: " + name});
    }
  }
  if (faults.size() > most) faults.resize(most);
  return faults;
}

}  // namespace nl::store
