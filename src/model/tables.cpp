#include "model/tables.h"

#include <algorithm>
#include <array>

namespace nl::model {
namespace {

#define NL_TABLE(table, kind, doc) constexpr Column columns_of_##table[] = {
#define NL_COLUMN(column, type, unit, doc) {#column, Type::type, unit, doc},
#define NL_END(table) \
  }                   \
  ;
#include "model/tables.def"
#undef NL_TABLE
#undef NL_COLUMN
#undef NL_END

constexpr std::array<Table, kTableCount> kTables = {{
#define NL_TABLE(table, kind, doc) {#table, TableKind::kind, doc, columns_of_##table},
#define NL_COLUMN(column, type, unit, doc)
#define NL_END(table)
#include "model/tables.def"
#undef NL_TABLE
#undef NL_COLUMN
#undef NL_END
}};

}  // namespace

std::span<const Table> all_tables() {
  return kTables;
}

const Table* find_table(std::string_view name) {
  const auto it =
      std::find_if(kTables.begin(), kTables.end(), [&](const Table& table) { return table.name == name; });
  return it == kTables.end() ? nullptr : &*it;
}

std::string_view sql_type(Type type) {
  switch (type) {
    case Type::i32:
    case Type::track:
      return "INTEGER";
    case Type::row_id:
    case Type::i64:
      return "BIGINT";
    case Type::f64:
      return "DOUBLE";
    case Type::dict:
    case Type::span_kind:
    case Type::json:
      return "VARCHAR";
  }
  return "VARCHAR";
}

std::string_view kind_name(TableKind kind) {
  switch (kind) {
    case TableKind::fact:
      return "fact";
    case TableKind::derived:
      return "derived";
    case TableKind::view:
      return "view";
  }
  return "view";
}

}  // namespace nl::model
