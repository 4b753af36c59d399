#include "capture/tools/vendor_tool.h"

#include "base/process.h"
#include "base/text.h"

namespace nl::capture {
namespace {

constexpr size_t kMostHelp = 1 << 20;

Result<VendorTool> find_tool(const Environment& surroundings, const std::string& name, const char* variable,
                             const std::string& product, const std::vector<std::string>& asks_for_help,
                             const std::string& without) {
  VendorTool tool{find_program(surroundings, name, variable), "", ""};
  const std::string hint = "install it or set " + std::string(variable) + " to its path; " + without;
  if (tool.path.empty())
    return Error{ErrorCode::kUnavailable, product + " (" + name + ") is not installed here", hint};
  tool.version = version_in(words_of_program(surroundings, {tool.path, "--version"}));
  if (tool.version.empty())
    return Error{ErrorCode::kUnavailable, "this program does not say its version: " + tool.path, hint};
  std::vector<std::string> help = {tool.path};
  help.insert(help.end(), asks_for_help.begin(), asks_for_help.end());
  tool.help = words_of_program(surroundings, help);
  if (tool.help.empty())
    return Error{ErrorCode::kUnavailable, "this program does not say which options it has: " + tool.path,
                 hint};
  return tool;
}

}  // namespace

std::string version_in(const std::string& text) {
  constexpr std::string_view kWord = "version";
  const std::string lowered = lower(text);
  for (size_t at = lowered.find(kWord); at != std::string::npos; at = lowered.find(kWord, at + 1)) {
    const size_t begin = text.find_first_not_of(": ", at + kWord.size());
    if (begin == std::string::npos || begin == at + kWord.size()) continue;
    const size_t end = text.find_first_not_of("0123456789.", begin);
    if (end != begin) return text.substr(begin, end == std::string::npos ? end : end - begin);
  }
  return {};
}

std::string words_of_program(const Environment& surroundings, const std::vector<std::string>& command) {
  ProcessOptions options;
  options.surroundings = &surroundings;
  options.time = std::chrono::minutes(1);
  options.output_bytes = kMostHelp;
  const auto ended = run_process(command, options);
  return ended ? ended->output + ended->errors : std::string();
}

Result<VendorTool> find_nsys(const Environment& surroundings) {
  return find_tool(surroundings, "nsys", "NEUROLENS_NSYS", "Nsight Systems", {"profile", "--help"},
                   "on AMD GPUs rocprofv3 does this; neurolens doctor says what can be measured here");
}

Result<VendorTool> find_ncu(const Environment& surroundings) {
  return find_tool(surroundings, "ncu", "NEUROLENS_NCU", "Nsight Compute", {"--help"},
                   "--mode light works without its counters");
}

Result<VendorTool> find_rocprofv3(const Environment& surroundings) {
  return find_tool(surroundings, "rocprofv3", "NEUROLENS_ROCPROFV3", "AMD's profiler", {"--help"},
                   "ROCm 6.3 or later has it in /opt/rocm/bin");
}

bool knows_option(const VendorTool& tool, std::string_view option) {
  for (size_t at = tool.help.find(option); at != std::string::npos; at = tool.help.find(option, at + 1)) {
    const size_t end = at + option.size();
    const bool whole = end == tool.help.size() || tool.help.find_first_of("= ,\t\n]", end) == end;
    if (whole) return true;
  }
  return false;
}

Result<void> check_counter_permission(std::string_view output) {
  if (!has_part(output, "ERR_NVGPUCTRPERM")) return {};
  return Error{
      ErrorCode::kPermission, "the driver does not let this user read counters (ERR_NVGPUCTRPERM)",
      "run as root, in a container with --cap-add SYS_ADMIN, or let the administrator load the driver "
      "with NVreg_RestrictProfilingToAdminUsers=0"};
}

}  // namespace nl::capture
