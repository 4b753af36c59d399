#pragma once
// The command line of Nsight Compute to replay selected launches of a workload. Pure functions, any thread.

#include <optional>
#include <string>
#include <vector>

#include "capture/tools/nvtx_range.h"
#include "capture/tools/tool_presets.h"
#include "capture/tools/vendor_tool.h"

namespace nl::capture {

struct NcuOptions {
  std::string log = {};                     ///< path of the raw page, CSV
  std::vector<std::string> functions = {};  ///< kernels by the names of their functions, at least one
  int64_t skip = 0;                         ///< so many launches of them
  int64_t count = 1;                        ///< and replay the next so many
  std::optional<NvtxRange> range = {};      ///< only launches inside such ranges
  NcuPreset preset = {};                    ///< what is counted
};

/// The program stands behind it. Kernels are chosen by whole names, so that none is replayed whose name only
/// has another one in it.
std::vector<std::string> ncu_command(const VendorTool& ncu, const NcuOptions& options);

/// A group of a regular expression that stands for one of these texts.
std::string one_of(const std::vector<std::string>& texts);

/// A regular expression that matches these texts as a whole and nothing else.
std::string exactly_one_of(const std::vector<std::string>& texts);

}  // namespace nl::capture
