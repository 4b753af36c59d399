#include "capture/tools/rocprofv3_command.h"

#include "capture/tools/ncu_command.h"

namespace nl::capture {
namespace {

/// Fixed names would be written by each process of the workload again.
void add_output(std::vector<std::string>& command, const std::string& folder) {
  command.insert(command.end(), {"--output-format", "csv", "-d", folder, "-o", "process-%pid%", "--"});
}

}  // namespace

std::vector<std::string> rocprofv3_trace_command(const VendorTool& rocprofv3, const std::string& folder) {
  std::vector<std::string> command = {rocprofv3.path, "--kernel-trace", "--hip-runtime-trace",
                                      "--memory-copy-trace", "--marker-trace"};
  if (knows_option(rocprofv3, "--rccl-trace")) command.emplace_back("--rccl-trace");
  add_output(command, folder);
  return command;
}

std::vector<std::string> rocprofv3_counter_command(const VendorTool& rocprofv3,
                                                   const Rocprofv3Counters& options) {
  std::vector<std::string> command = {rocprofv3.path, "--pmc"};
  command.insert(command.end(), options.counters.begin(), options.counters.end());
  command.insert(command.end(), {"--kernel-include-regex", names_one_of(options.functions),
                                 "--kernel-exclude-regex", "[nr]cclDevKernel"});
  add_output(command, options.folder);
  return command;
}

std::string names_one_of(const std::vector<std::string>& functions) {
  return "(^|[ :])" + one_of(functions) + "([<( .]|$)";
}

Result<void> check_counter_option(const VendorTool& rocprofv3) {
  if (knows_option(rocprofv3, "--pmc")) return {};
  return Error{ErrorCode::kUnavailable, "this rocprofv3 has no --pmc: " + rocprofv3.path,
               "install ROCm 6.3 or later; --mode light works without counters"};
}

}  // namespace nl::capture
