#include "capture/tools/trtexec_command.h"

#include "base/process.h"
#include "base/text.h"

namespace nl::capture {
namespace {

/// x:1x3x224x224
std::string shape_text(const std::string& input, const std::vector<int64_t>& shape) {
  std::string text;
  for (const int64_t size : shape) text += (text.empty() ? "" : "x") + std::to_string(size);
  return input + ":" + text;
}

bool is_onnx(const std::string& model) {
  return lower(model).ends_with(".onnx");
}

}  // namespace

std::string tensorrt_version_in(const std::string& banner) {
  constexpr std::string_view kBefore = "[TensorRT v";
  const size_t at = banner.find(kBefore);
  if (at == std::string::npos) return {};
  const size_t begin = at + kBefore.size();
  const std::string digits = banner.substr(begin, banner.find_first_not_of("0123456789", begin) - begin);
  if (digits.size() < 4 || digits.size() > 6) return {};
  const int number = std::stoi(digits);
  const int major_unit = digits.size() == 4 ? 1000 : 10000;  // from version 10 on there are two digits a part
  return std::to_string(number / major_unit) + "." + std::to_string(number % major_unit / 100) + "." +
         std::to_string(number % 100);
}

Result<VendorTool> find_trtexec(const Environment& surroundings) {
  const std::string hint =
      "install TensorRT and put its bin folder into PATH, or set NEUROLENS_TRTEXEC to its path";
  VendorTool tool{find_program(surroundings, "trtexec", "NEUROLENS_TRTEXEC"), "", ""};
  if (tool.path.empty()) return Error{ErrorCode::kUnavailable, "trtexec is not installed here", hint};
  tool.help = words_of_program(surroundings, {tool.path, "--help"});
  tool.version = tensorrt_version_in(tool.help);
  if (tool.version.empty())
    return Error{ErrorCode::kUnavailable,
                 "this program does not report the version of TensorRT: " + tool.path, hint};
  return tool;
}

Result<std::vector<std::string>> trtexec_command(const VendorTool& trtexec, const TrtexecOptions& options) {
  for (const char* needed :
       {"--exportTimes", "--exportProfile", "--exportLayerInfo", "--separateProfileRun"}) {
    if (!knows_option(trtexec, needed))
      return Error{ErrorCode::kUnsupported, "trtexec of TensorRT " + trtexec.version + " has no " + needed,
                   "use that of TensorRT 8.4 or later"};
  }
  std::vector<std::string> command = {trtexec.path,
                                      (is_onnx(options.model) ? "--onnx=" : "--loadEngine=") + options.model};
  if (options.iterations > 0) {
    command.insert(command.end(), {"--iterations=" + std::to_string(options.iterations), "--duration=0"});
  } else {
    command.push_back("--duration=" + std::to_string(options.seconds));
  }
  std::string shapes;
  for (const auto& [input, shape] : options.shapes)
    shapes += (shapes.empty() ? "" : ",") + shape_text(input, shape);
  if (!shapes.empty()) command.push_back("--shapes=" + shapes);
  if (knows_option(trtexec, "--profilingVerbosity")) command.emplace_back("--profilingVerbosity=detailed");
  command.insert(command.end(),
                 {"--dumpProfile", "--separateProfileRun", "--exportTimes=" + options.folder + "/times.json",
                  "--exportProfile=" + options.folder + "/profile.json",
                  "--exportLayerInfo=" + options.folder + "/layers.json"});
  return command;
}

}  // namespace nl::capture
