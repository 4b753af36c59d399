#pragma once
// libneurolens_collect.so is embedded in this program, so that one file is enough to record. It is written to
// a private folder (base/private_folder.h) before the workload starts, never into a ledger: whoever can write
// there would decide what the workload runs.

#include <string>

#include "base/result.h"

namespace nl::capture {

/// Writes the library into the folder; its path. `unavailable` if this build has none.
Result<std::string> write_collector_library(const std::string& folder);

}  // namespace nl::capture
