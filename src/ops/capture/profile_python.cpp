#include "ops/capture/profile_python.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/files.h"
#include "base/json_schema.h"
#include "base/path_text.h"
#include "base/private_folder.h"
#include "base/process.h"
#include "base/small_json.h"
#include "base/text.h"
#include "capture/document.h"
#include "capture/model_passes.h"
#include "ops/capture/profile_onnx.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr int64_t kMostPassesBytes = int64_t{64} << 20;

/// Another program wrote the file: what is taken out of it is checked first.
constexpr char kPasses[] = R"json({
  "type": "object", "required": ["framework", "target", "profiles", "files", "notes", "inputs", "labels",
                                 "memory", "clock", "iterations"],
  "properties": {
    "framework": {"type": "object", "required": ["name", "version", "path", "provider"], "properties": {
      "name": {"type": "string"}, "version": {"type": "string"}, "path": {"type": "string"},
      "provider": {"type": "string"}, "threads": {"type": "integer", "minimum": 0, "maximum": 1048576}}},
    "target": {"type": "string"}, "command": {"type": "string"},
    "profiles": {"$ref": "#/definitions/names"}, "files": {"$ref": "#/definitions/names"},
    "notes": {"type": "array", "items": {"type": "string"}},
    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    "inputs": {"type": "array", "items": {"type": "object", "required": ["name", "type", "shape", "origin"],
      "properties": {"name": {"type": "string"}, "type": {"type": "string"}, "origin": {"type": "string"},
                     "shape": {"type": "array", "items": {"type": "integer"}}}}},
    "memory": {"type": "object", "required": ["peak_bytes", "stages"], "properties": {
      "peak_bytes": {"type": ["integer", "null"], "minimum": 0}, "stages": {"type": "array"}}},
    "clock": {"type": "object"}, "iterations": {"type": "array"}},
  "definitions": {"names": {"type": "array", "items": {"type": "string", "pattern": "^[A-Za-z0-9_][A-Za-z0-9._-]*$"}}}})json";

// ---- Starting it

/// "a.b:c": names of Python, with one colon between them.
bool is_module_and_function(const std::string& text) {
  const auto is_of_name = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == ':';
  };
  const size_t colon = text.find(':');
  return colon != std::string::npos && colon > 0 && colon + 1 < text.size() && text.rfind(':') == colon &&
         std::all_of(text.begin(), text.end(), is_of_name) && !path_exists(text);
}

/// The target with the whole path of its script: the process works in the same folder, but scripts may not.
Result<std::string> whole_target(const Environment& surroundings, const std::string& target) {
  const size_t end = target.rfind(".py:");
  const std::string script = end == std::string::npos ? target : target.substr(0, end + 3);
  if (end == std::string::npos && is_module_and_function(target)) return target;
  NL_TRY(const std::string path, whole_path(surroundings, script));
  return path + target.substr(script.size());
}

Result<std::string> find_python(const Environment& surroundings, const json& parameters) {
  const std::string wanted = parameters.value("python", "python3");
  const std::string found = find_in_path(surroundings, wanted);
  if (!found.empty()) return found;
  return Error{ErrorCode::kUnavailable, "this Python does not exist: " + wanted,
               "choose another one with --python"};
}

/// Members that were not given are left to the package.
Result<json> python_plan_of(const Environment& surroundings, const json& parameters,
                            const std::string& framework) {
  json plan = {{"framework", framework}, {"arguments", parameters.value("arguments", json::array())}};
  NL_TRY(plan["target"], whole_target(surroundings, parameters["model"]));
  if (parameters.contains("inputs")) {
    NL_TRY(plan["inputs_file"], whole_path(surroundings, parameters["inputs"]));
  }
  NL_TRY(const auto inputs, input_options(parameters));
  plan["shapes"] = inputs.shapes;
  for (const char* name : {"warm_up", "iterations", "seconds", "threads"}) {
    if (parameters.contains(name)) plan[name] = parameters[name];
  }
  return plan;
}

/// A Python without the package says so in one line only.
Error with_package_hint(Error error, const std::string& python) {
  if (!has_part(error.message, "No module named") || !has_part(error.message, "neurolens")) return error;
  return Error{ErrorCode::kUnavailable, "the package neurolens is not installed for this Python: " + python,
               "install it there (pip install neurolens), or choose another Python with --python"};
}

// ---- What it wrote

Result<json> checked_passes(const std::string& folder) {
  NL_TRY(const std::string text, read_small_file(folder + "/passes.json", kMostPassesBytes));
  json passes = parse_small_json(text);
  if (passes.is_discarded()) return Error{ErrorCode::kBadInput, "passes.json is damaged"};
  static const JsonSchema kSchema(kPasses, "passes.json");
  NL_CHECK(kSchema.validate(passes));
  return passes;
}

MeasuredProfile measured_of(const json& passes) {
  MeasuredProfile measured;
  measured.document = passes;
  for (const char* ours : {"profiles", "files"}) measured.document.erase(ours);
  measured.profiles = passes["profiles"].get<std::vector<std::string>>();
  const json& framework = passes["framework"];
  for (const char* name : {"name", "version", "path", "provider"}) measured.library[name] = framework[name];
  measured.inputs = passes["inputs"];
  measured.memory = passes["memory"];
  measured.model = base_name(passes["target"].get<std::string>());
  measured.threads = framework.value("threads", 0);
  measured.warnings = passes["notes"].get<std::vector<std::string>>();
  return measured;
}

Result<void> copy_files(const json& names, const std::string& from, const std::string& to) {
  for (const std::string name : names) {
    std::error_code failed;
    std::filesystem::copy_file(from + "/" + name, to + "/" + name, failed);
    if (failed) return errno_error("cannot copy", from + "/" + name, failed.value());
  }
  return {};
}

}  // namespace

bool is_python_target(const std::string& text) {
  return text.ends_with(".py") || text.find(".py:") != std::string::npos || is_module_and_function(text);
}

Result<MeasuredProfile> profile_python(const Context& context, const json& parameters,
                                       const std::string& framework, const std::string& folder) {
  NL_TRY(const json plan, python_plan_of(*context.environment, parameters, framework));
  NL_TRY(const std::string python, find_python(*context.environment, parameters));
  // It says which script is run with which arguments: nobody else may change it, or see it later.
  NL_TRY(const FolderAside own, make_private_folder(*context.environment, PrivateUse::kFiles));
  const std::string plan_path = own.path() + "/plan.json";
  NL_CHECK(write_file_durably(plan_path, plan.dump(1)));
  const std::vector<std::string> command = {
      python, "-m", "neurolens._profile_target", folder, std::to_string(::getpid()), plan_path};
  const auto end = run_measuring(context, command, folder, parameters["time_limit"]);
  if (!end) return with_package_hint(end.error(), python);
  NL_TRY(const json passes, checked_passes(folder));
  MeasuredProfile measured = measured_of(passes);
  if (framework != "auto") {
    NL_TRY(measured.document["model"], capture::file_json(plan["target"]));
  }
  measured.document["process"] = capture::process_json(end->process);
  return measured;
}

Result<MeasuredProfile> take_python_passes(const std::string& from, const std::string& folder) {
  NL_TRY(const json passes, checked_passes(from));
  NL_CHECK(copy_files(passes["profiles"], from, folder));
  NL_CHECK(copy_files(passes["files"], from, folder));
  return measured_of(passes);
}

}  // namespace nl::ops
