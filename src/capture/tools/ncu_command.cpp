#include "capture/tools/ncu_command.h"

namespace nl::capture {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view(R"(\^$.|?*+()[]{})").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// Without any of these the tool would count its own choice.
void add_preset(std::vector<std::string>& command, const NcuPreset& preset) {
  if (!preset.set.empty()) command.insert(command.end(), {"--set", preset.set});
  for (const std::string& section : preset.sections) command.insert(command.end(), {"--section", section});
  std::string metrics;
  for (const std::string& metric : preset.metrics) metrics += (metrics.empty() ? "" : ",") + metric;
  if (!metrics.empty()) command.insert(command.end(), {"--metrics", metrics});
}

}  // namespace

std::string one_of(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "(" : "|") + escaped(text);
  return out + ")";
}

std::string exactly_one_of(const std::vector<std::string>& texts) {
  return "^" + one_of(texts) + "$";
}

std::vector<std::string> ncu_command(const VendorTool& ncu, const NcuOptions& options) {
  std::vector<std::string> command = {ncu.path, "--target-processes", "all"};
  add_preset(command, options.preset);
  command.insert(
      command.end(),
      {"--kernel-name-base", "function", "--kernel-name", "regex:" + exactly_one_of(options.functions),
       "--launch-skip", std::to_string(options.skip), "--launch-count", std::to_string(options.count)});
  if (options.range) command.insert(command.end(), {"--nvtx", "--nvtx-include", ncu_range(*options.range)});
  command.insert(command.end(), {"--csv", "--page", "raw"});
  command.emplace_back(knows_option(ncu, "--print-units") ? "--print-units" : "--units");
  command.insert(command.end(), {"base", "--log-file", options.log});
  return command;
}

}  // namespace nl::capture
