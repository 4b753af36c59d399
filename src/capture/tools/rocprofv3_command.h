#pragma once
// The command lines of rocprofv3: one to trace a workload, and one to count on selected kernels. Pure
// functions, any thread.

#include <string>
#include <vector>

#include "base/result.h"
#include "capture/tools/vendor_tool.h"

namespace nl::capture {

/// Kernels, calls of HIP and, where the version knows them, of RCCL, copies and ROCTx ranges, as CSV. Every
/// process of the workload writes files of its own. The program stands behind it.
std::vector<std::string> rocprofv3_trace_command(const VendorTool& rocprofv3, const std::string& folder);

struct Rocprofv3Counters {
  std::string folder = {};
  std::vector<std::string> functions = {};  ///< kernels by the names of their functions, at least one
  std::vector<std::string> counters = {};   ///< that the device can count at once
};

/// The program stands behind it. Collectives are left out, whatever the functions are called.
std::vector<std::string> rocprofv3_counter_command(const VendorTool& rocprofv3,
                                                   const Rocprofv3Counters& options);

/// A regular expression that finds kernels of these functions by their full names, with namespaces, template
/// values and arguments.
std::string names_one_of(const std::vector<std::string>& functions);

/// `unavailable` if this version counts only by way of an input file.
Result<void> check_counter_option(const VendorTool& rocprofv3);

}  // namespace nl::capture
