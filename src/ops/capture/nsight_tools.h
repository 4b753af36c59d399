#pragma once
// Nsight Systems and Nsight Compute as tools of the operation `deep`.

#include <optional>
#include <string>

#include "capture/tools/nvtx_range.h"
#include "capture/tools/tool_presets.h"
#include "ops/capture/deep_tool.h"

namespace nl::ops {

struct NsightOptions {
  bool counters = true;
  std::string trace = "cuda,nvtx";
  capture::NcuPreset preset = {};  ///< what is counted
  std::optional<capture::NvtxRange> range = {};
};

/// `unavailable` if one that is needed is not installed.
Result<DeepTools> nsight_tools(const Environment& surroundings, const NsightOptions& options);

}  // namespace nl::ops
