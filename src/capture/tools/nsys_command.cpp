#include "capture/tools/nsys_command.h"

namespace nl::capture {
namespace {

/// The tool replaces %p and the like in a path.
std::string without_patterns(const std::string& path) {
  std::string out;
  for (const char c : path) out += c == '%' ? "%%" : std::string(1, c);
  return out;
}

/// The recording ends with the range, the program goes on. Texts that were not registered with NVTX trigger
/// nothing unless the variable is set.
void add_range(std::vector<std::string>& command, const VendorTool& nsys, const NvtxRange& range) {
  command.insert(command.end(), {"--capture-range=nvtx", "--nvtx-capture=" + nsys_range(range),
                                 "--env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0"});
  if (knows_option(nsys, "--capture-range-end")) {
    command.emplace_back("--capture-range-end=stop");
  } else {
    command.insert(command.end(), {"--stop-on-range-end=true", "--kill=none"});
  }
}

}  // namespace

std::vector<std::string> nsys_command(const VendorTool& nsys, const NsysOptions& options) {
  std::vector<std::string> command = {nsys.path, "profile", "--trace=" + options.trace, "--sample=none",
                                      "--cpuctxsw=none"};
  if (knows_option(nsys, "--cuda-graph-trace")) command.emplace_back("--cuda-graph-trace=node");
  if (options.range) add_range(command, nsys, *options.range);
  command.insert(command.end(), {"--force-overwrite=true", "--output=" + without_patterns(options.report)});
  return command;
}

}  // namespace nl::capture
