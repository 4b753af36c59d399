#pragma once
// Which tables of a run lie on its time line as slices and instants, and under which names their columns
// become arguments of an event. The names are those of PyTorch's traces, where it has one: people know them,
// and import reads them back into the same columns.

#include <span>
#include <string_view>

namespace nl::exports {

enum class ArgKind {
  kInt,
  kReal,
  kText,
  kJson,    ///< JSON in a column of texts: shapes and the like
  kTriple,  ///< three columns, x, y and z, as one [x, y, z]
  kRest,    ///< an object with what the source said besides
};

struct ArgColumn {
  std::string_view column;  ///< of a triple the part before _x
  std::string_view key;
  ArgKind kind = ArgKind::kInt;
};

struct TraceTable {
  std::string_view table;
  std::string_view id;
  std::string_view track = "track_id";  ///< empty: the table has a timeline of its own
  std::string_view name = "name";       ///< these three are SQL
  std::string_view category = "category";
  std::string_view kind = "NULL";
  /// Of rows that begin and end together, the lower one lies outside, as in span_tree.
  std::string_view rank = "3";
  std::span<const ArgColumn> args;
};

/// In the order in which they are written: what lies outside comes first.
std::span<const TraceTable> trace_tables();

/// Tables that have no place on a time line, and what they are for people.
struct TimelessTable {
  std::string_view table;
  std::string_view words;
};
std::span<const TimelessTable> timeless_tables();

}  // namespace nl::exports
