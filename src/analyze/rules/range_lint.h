#pragma once
// Checks the ranges that a program marks (NVTX, user annotations). Reports ranges that are not closed, have
// no name, overlap another range without being nested in it, or use a name that was not agreed on. Also says
// how much of the capture is covered by ranges.

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
