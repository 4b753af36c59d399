#pragma once
// Table descriptions generated from tables.def: column numbers such as nl::model::spans::start_ns, and the
// descriptions themselves for code that handles all tables (Parquet writer, views, docs). Plain constants,
// usable from any thread.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace nl::model {

enum class Type { row_id, track, i32, i64, f64, dict, json, span_kind };
enum class TableKind { fact, derived, view };

/// What a span is, whatever the source calls it. A cell of type span_kind holds the number.
enum class SpanKind : uint8_t {
  op,
  runtime,
  annotation,
  device_annotation,
  python,
  device,
  overhead,
  instant,
  other
};
inline constexpr std::string_view kSpanKinds[] = {
    "op", "runtime", "annotation", "device_annotation", "python", "device", "overhead", "instant", "other"};

struct Column {
  std::string_view name;
  Type type;
  std::string_view unit;
  std::string_view doc;
};

struct Table {
  std::string_view name;
  TableKind kind;
  std::string_view doc;
  std::span<const Column> columns;
};

// Column numbers: spans::name is the index of column "name" of table "spans".
#define NL_TABLE(table, kind, doc) \
  namespace table {                \
  enum Columns : int {
#define NL_COLUMN(column, type, unit, doc) column,
#define NL_END(table) \
  kColumns            \
  }                   \
  ;                   \
  }
#include "model/tables.def"
#undef NL_TABLE
#undef NL_COLUMN
#undef NL_END

enum class TableId : int {
#define NL_TABLE(table, kind, doc) table,
#define NL_COLUMN(column, type, unit, doc)
#define NL_END(table)
#include "model/tables.def"
#undef NL_TABLE
#undef NL_COLUMN
#undef NL_END
  kCount
};

inline constexpr size_t kTableCount = static_cast<size_t>(TableId::kCount);

/// All tables in the order of tables.def, indexed by TableId.
std::span<const Table> all_tables();
inline const Table& table(TableId id) {
  return all_tables()[static_cast<size_t>(id)];
}

/// Null if there is none of this name.
const Table* find_table(std::string_view name);

/// The SQL type that every engine here understands: INTEGER, BIGINT, DOUBLE or VARCHAR.
std::string_view sql_type(Type type);

/// "fact", "derived" or "view".
std::string_view kind_name(TableKind kind);

}  // namespace nl::model
