#pragma once
// The views that SQL over one run can use: one for every table of tables.def, with times on the common clock.
// If `linked`, the derived columns (parent_id, depth, launch_span_id, op_id) are joined in. A table without a
// file is an empty view.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "store/common_time.h"
#include "store/engine.h"

namespace nl::store {

struct RunFiles {
  std::string bundle;                          ///< folder with run.json
  std::string derived;                         ///< folder with the derived tables; empty if there is none
  std::set<std::string> derived_files = {};    ///< in it
  std::vector<ClockBase> clocks = {};          ///< of run.json
  std::map<std::string, int64_t> tables = {};  ///< rows of the fact tables that run.json lists
  std::set<std::string> formats = {};          ///< of its sources
};

/// Looks at the bundle. `derived` is set if the current derived tables are there.
Result<RunFiles> run_files(const std::string& bundle);
/// The same with its run.json read already.
Result<RunFiles> run_files(const std::string& bundle, const nlohmann::json& document);
/// Takes the derived tables from this folder, as far as it is complete.
void use_derived(RunFiles& files, const std::string& folder);

/// Folder of the derived tables inside a bundle, named after their producer and version.
std::string derived_folder(const std::string& bundle);

/// Paths of all Parquet files that the views read.
std::vector<std::string> parquet_files(const RunFiles& files);

/// How the times of a run come to its common clock.
Result<CommonTime> common_time(Connection& connection, const RunFiles& files);

/// Who sees the views. What one connection sees goes with it, so that the engine can be used again.
enum class ViewScope { kConnection, kEngine };

/// A table whose file is missing or damaged gets a view that says so when it is read; the others can still be
/// asked.
/// `only`: the tables that will be asked for; empty: all.
Result<void> create_views(Connection& connection, const RunFiles& files, bool linked,
                          const std::set<std::string>& only = {}, ViewScope scope = ViewScope::kConnection);
/// The same with the common time known already. Views that are there stay as they are.
Result<void> create_views(Connection& connection, const RunFiles& files, const CommonTime& time, bool linked,
                          const std::set<std::string>& only, ViewScope scope);

/// Columns that the view of a table has besides its own, from the derived tables.
std::vector<std::string> linked_columns(std::string_view table);

/// How names of derived tables begin that are being built, see base/aside.h.
inline constexpr char kDerivedAside[] = ".new-";
/// Removes what processes that ended while they built have left in a bundle; how many.
int64_t remove_derived_left_overs(const std::string& bundle);

/// Files that the derived folder must hold, with their sizes, from the mark that its builder left.
std::map<std::string, int64_t> derived_files(const std::string& folder);

}  // namespace nl::store
