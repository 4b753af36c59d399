#pragma once
// Finds the names of sampled frames. It runs after the workload has ended, so that it does not disturb the
// measurement. Names come from the symbols of the mapped files, and from the maps that runtimes with
// generated code write (/tmp/perf-<process>.map).

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace nl::capture {

/// Writes the file of a sampler anew, with names; a file whose sampler was killed, too, as far as it is
/// sound. Frames without a name stay as they are. Nothing is changed if the disk is full.
Result<void> name_frames(const std::string& path);

/// For each address the name that the map says; empty if none. Later lines count more. `addresses` are
/// sorted.
std::vector<std::string> names_in_perf_map(const std::string& path, std::span<const uint64_t> addresses);

}  // namespace nl::capture
