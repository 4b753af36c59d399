#include "ops/capture/profile_trtexec.h"

#include "base/files.h"
#include "base/path_text.h"
#include "capture/document.h"
#include "capture/tools/trtexec_command.h"
#include "ops/capture/profile_onnx.h"
#include "wire/clock_pair.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr const char* kOutputs[] = {"times.json", "profile.json", "layers.json"};

Result<capture::TrtexecOptions> options_of(const Environment& surroundings, const json& parameters,
                                           const std::string& folder) {
  capture::TrtexecOptions options;
  NL_TRY(options.model, whole_path(surroundings, parameters["model"]));
  NL_TRY(const auto inputs, input_options(parameters));
  options.folder = folder;
  options.shapes = inputs.shapes;
  options.iterations = parameters.value("iterations", int64_t{0});
  options.seconds = parameters["seconds"];
  return options;
}

std::string name_without_suffix(const std::string& path) {
  const std::string name = base_name(path);
  const size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

}  // namespace

Result<MeasuredProfile> profile_trtexec(const Context& context, const json& parameters,
                                        const std::string& folder) {
  NL_TRY(const auto options, options_of(*context.environment, parameters, folder));
  NL_TRY(const auto trtexec, capture::find_trtexec(*context.environment));
  NL_TRY(const auto command, capture::trtexec_command(trtexec, options));
  MeasuredProfile measured;
  measured.document["clock"] = capture::clock_pair_json(wire::read_clock_pair());
  NL_TRY(const auto end, run_measuring(context, command, folder, parameters["time_limit"]));
  for (const char* name : kOutputs) {
    if (!path_exists(folder + "/" + name))
      return Error{ErrorCode::kUnavailable,
                   "trtexec ended without an error but wrote no " + std::string(name)};
    measured.profiles.emplace_back(name);
  }
  measured.library = {
      {"name", "tensorrt"}, {"version", trtexec.version}, {"path", trtexec.path}, {"provider", "trtexec"}};
  NL_TRY(measured.document["model"], capture::file_json(options.model));
  measured.document.update({{"framework", measured.library},
                            {"labels", {{"model", name_without_suffix(options.model)}}},
                            {"arguments", command},
                            {"process", capture::process_json(end.process)}});
  measured.memory = {{"peak_bytes", end.process.peak_memory_bytes}, {"stages", json::array()}};
  measured.model = base_name(options.model);
  return measured;
}

}  // namespace nl::ops
