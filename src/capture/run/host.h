#pragma once
// Describes what a workload runs on: machine, processors, memory, limits, GPUs, and the state of its source
// code. What cannot be found out is left out, and `absent` in the document names it with the reason.

#include <string>
#include <vector>

#include "base/environment.h"
#include "base/json.h"

namespace nl::capture {

/// The machine, as /proc, /sys and /etc below `root` describe it.
nlohmann::json describe_host(const std::string& root = "");

/// Made anew each time the system starts, and so a name of its CLOCK_MONOTONIC; empty if it is hidden.
std::string boot_id();

/// NVIDIA GPUs as nvidia-smi lists them; {"absent": reason} where there are none.
nlohmann::json describe_gpus(const Environment& surroundings);

/// Commit, branch and number of changed files of the folder's git checkout; null if it is none.
nlohmann::json describe_checkout(const Environment& surroundings, const std::string& folder);

/// The variables that change how inference runs, from an allow-list by name; never one whose name speaks of a
/// secret, and none that holds a path or an address. {"variables": {}, "withheld": n}, where n counts those
/// of the list that were left out.
nlohmann::json describe_environment(const std::vector<std::string>& variables);

}  // namespace nl::capture
