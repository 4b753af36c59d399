#pragma once
// The views that SQL over one run can use: one for every table of tables.def, with times on the common clock.
// If `linked`, the derived columns (parent_id, depth, launch_span_id, op_id) are joined in. A table without a
// file is an empty view.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/tables.h"
#include "store/common_time.h"
#include "store/engine.h"
#include "store/file_check.h"

namespace nl::store {

/// Where the files of a run lie. What is derived from a run of the ledger lies in its bundle. In a bundle
/// that comes from elsewhere nothing is written, and what is derived there already is not believed: it lies
/// in the cache of whoever reads it.
struct RunPlace {
  std::string bundle;
  std::string derived;
  std::string spare = {};  ///< for what is derived if that folder cannot be written; empty: there is none
};

/// A run of the ledger.
inline RunPlace place_in_ledger(const std::string& bundle) {
  return {bundle, bundle + "/derived"};
}

struct RunFiles {
  RunPlace place;
  std::string derived = {};                    ///< folder with the derived tables; empty if there is none
  std::map<std::string, FileSeal> seals = {};  ///< of fact tables, by table
  std::map<std::string, FileSeal> derived_files = {};  ///< by file name
  std::vector<ClockBase> clocks = {};                  ///< of run.json
  std::map<std::string, int64_t> tables = {};          ///< rows of the fact tables that run.json lists
  std::set<std::string> formats = {};                  ///< of its sources
  std::optional<std::pair<int64_t, int64_t>> slice =
      {};  ///< begin and end of the part of its parent that it is
};

/// Looks at the bundle. `derived` is set if the current derived tables are there.
Result<RunFiles> run_files(const RunPlace& place);
/// The same with its run.json read already.
Result<RunFiles> run_files(const RunPlace& place, const nlohmann::json& document);
/// Takes the derived tables from this folder, as far as it is complete.
void use_derived(RunFiles& files, const std::string& folder);

/// Folder of the derived tables, named after their producer and version, inside of the one for all that is
/// derived.
std::string derived_folder(const std::string& derived);

/// Paths of all Parquet files that the views read.
std::vector<std::string> parquet_files(const RunFiles& files);

/// The file of a table; empty if the run has no such table. io if it has not the bytes that were written.
Result<std::string> intact_path(const RunFiles& files, model::TableId id);
/// How the times of a run come to its common clock.
Result<CommonTime> common_time(const RunFiles& files);

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
/// Removes what processes that ended while they built have left in the folder of what is derived; how many.
int64_t remove_derived_left_overs(const std::string& derived);

/// Leaves the mark that the folder of derived tables is complete: what each file must be.
Result<void> mark_complete(const std::string& folder);
/// What the mark says, by file name. not_found without a mark, bad_input if it is not what was written.
Result<std::map<std::string, FileSeal>> derived_files(const std::string& folder);

}  // namespace nl::store
