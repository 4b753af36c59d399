#pragma once
// The command line of Nsight Systems for a workload. Pure functions, any thread.

#include <optional>
#include <string>
#include <vector>

#include "capture/tools/nvtx_range.h"
#include "capture/tools/vendor_tool.h"

namespace nl::capture {

struct NsysOptions {
  std::string report = {};  ///< path without suffix
  std::string trace = "cuda,nvtx";
  std::optional<NvtxRange> range = {};  ///< only what lies in the first such range
};

/// The program that is recorded stands behind it. No samples of the CPU and no context switches: on some
/// machines sampling hangs, and it disturbs.
std::vector<std::string> nsys_command(const VendorTool& nsys, const NsysOptions& options);

}  // namespace nl::capture
