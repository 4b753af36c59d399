#pragma once
// The views that SQL over one run sees: one for every table of tables.def, with the clock applied and, if
// `linked`, the derived columns (parent_id, depth, launch_span_id, op_id) joined in. Tables without a file
// are empty views.

#include <string>
#include <vector>

#include "base/result.h"
#include "store/engine.h"

namespace nl::store {

struct RunFiles {
  std::string bundle;         ///< folder with run.json
  std::string derived;        ///< folder with the derived tables; empty if there is none
  int64_t clock_base_ns = 0;  ///< added to every start_ns
};

/// Looks at the bundle. `derived` is set if the current derived tables are there.
Result<RunFiles> run_files(const std::string& bundle);

/// Folder of the derived tables inside a bundle, named after their producer and version.
std::string derived_folder(const std::string& bundle);

/// Paths of all Parquet files that the views read.
std::vector<std::string> parquet_files(const RunFiles& files);

Result<void> create_views(Connection& connection, const RunFiles& files, bool linked);

/// True if the query can see the derived columns: it names one, or takes all columns of something. Parsed by
/// the engine; in doubt true. A join over millions of rows is then only made when it is needed.
bool needs_links(Connection& connection, const std::string& sql);

}  // namespace nl::store
