#pragma once
// Runs SQL that a user gives over one run: exactly one SELECT on the run's own files, without any other
// access to the machine, and with limits on memory and time. See docs/architecture.md, Security.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/run_views.h"

namespace nl::store {

struct QueryLimits {
  int threads = 2;
  int memory_mb = 4096;
  int seconds = 600;
  std::string temp_folder = "/tmp";  ///< where a result waits until it is complete; it has no name there
  std::function<bool()> cancelled = [] { return false; };
  /// Takes rights away from the process before it looks at the statement. `output`: the open file that the
  /// result goes to, or -1.
  std::function<void(int output)> confine = [](int) {};
};

/// kInteger fits into 64 bits with a sign; kNumber is any other that is not binary, such as a decimal.
enum class CellKind { kInteger, kDouble, kNumber, kBoolean, kText };

struct ResultColumn {
  std::string name;
  CellKind kind = CellKind::kText;
};

/// Text of a value, as SQL would cast it; no text for NULL.
struct Cell {
  bool is_null = false;
  std::string_view text;
};

struct QuerySink {
  std::function<Result<void>(const std::vector<ResultColumn>&)> columns;
  std::function<Result<void>(std::span<const Cell>)> row;
};

/// The engine that the queries below need; each takes one. It gets its threads after the process was
/// confined, since threads keep the rights that they began with. Some functions do not keep to the engine's
/// limit of memory, so it gets less than the whole.
inline EngineOptions query_engine(const QueryLimits& limits) {
  return {1, limits.memory_mb / 4 * 3, ""};
}

/// Runs the query and hands its rows to the sink one by one.
Result<void> run_user_query(EngineStart& start, const RunFiles& files, const std::string& sql,
                            const QueryLimits& limits, const QuerySink& sink);
/// Gives the bytes of the result as a Parquet file, piece by piece.
Result<void> stream_user_query_as_parquet(EngineStart& start, const RunFiles& files, const std::string& sql,
                                          const QueryLimits& limits,
                                          const std::function<Result<void>(std::string_view)>& bytes);

}  // namespace nl::store
