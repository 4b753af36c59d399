#pragma once
// libneurolens_collect.so is embedded in this program, so that one file is enough to record. It is written to
// a folder before the workload starts.

#include <string>

#include "base/result.h"

namespace nl::capture {

/// Writes the library into the folder; its path. `unavailable` if this build has none, or if programs cannot
/// load libraries from there.
Result<std::string> write_collector_library(const std::string& folder);

}  // namespace nl::capture
