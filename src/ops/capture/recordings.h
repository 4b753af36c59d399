#pragma once
// The recordings of a ledger that run or were killed: a folder each.

#include <cstdint>
#include <string>
#include <vector>

namespace nl::ops {

/// Beside the runs and not among the stagings: what a killed recorder leaves is data.
std::string recordings_folder(const std::string& ledger_folder);

/// Names of the folders, the oldest first; they begin with the time of their start.
std::vector<std::string> list_recordings(const std::string& ledger_folder);

/// Letters, digits and - alone: it becomes part of a path.
bool is_recording_name(const std::string& name);

/// Nanoseconds since 1970, as the name says; 0 if it says none.
int64_t started_at_ns(const std::string& recording);

}  // namespace nl::ops
