#pragma once
// Faults of the ranges that a program marks (NVTX, user annotations): a range that is not closed, has no
// name, cuts another one, or whose name is none of those agreed upon; and how much of the capture ranges
// cover.

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "store/run_views.h"

namespace nl::store {
class OpenRun;
}

namespace nl::analyze {

struct LintOptions {
  std::string names_file = {};  ///< a user's list of names; then every other name is a fault
  int64_t top = 20;             ///< rows of each list
};

/// {ranges, names, coverage {window_ns, covered_ns, share}, faults [{fault, count, examples [...]}],
/// unknown_names
/// [...], faulty}.
Result<nlohmann::json> lint_ranges(store::OpenRun& run, const LintOptions& options);

}  // namespace nl::analyze
