#pragma once
// Nsight Systems, Nsight Compute and rocprofv3 as installed programs: path, version and supported options.
// Options differ between versions, so the tool's own help is asked. Any thread may call.

#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/result.h"

namespace nl::capture {

struct VendorTool {
  std::string path;
  std::string version;  ///< 2022.4.2.1
  std::string help;     ///< what it says of its options
};

/// The first number behind the word version; empty if there is none.
std::string version_in(const std::string& text);

/// What a program says if it is started so; empty if it cannot be started or does not end.
std::string words_of_program(const Environment& surroundings, const std::vector<std::string>& command);

/// `unavailable`, with what to do, if it is not installed or does not say its version.
Result<VendorTool> find_nsys(const Environment& surroundings);
Result<VendorTool> find_ncu(const Environment& surroundings);
Result<VendorTool> find_rocprofv3(const Environment& surroundings);

/// Does its help list the option?
bool knows_option(const VendorTool& tool, std::string_view option);

/// That counters are kept from users of the machine, if the tool's output says so; with the way out.
Result<void> check_counter_permission(std::string_view output);

}  // namespace nl::capture
