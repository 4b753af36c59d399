#include <algorithm>
#include <initializer_list>
#include <map>

#include "base/files.h"
#include "base/path_text.h"
#include "base/text.h"
#include "ops/capture/profile_onnx.h"
#include "ops/capture/profile_python.h"
#include "ops/capture/profile_run.h"
#include "ops/capture/profile_trtexec.h"
#include "ops/runs/run_labels.h"

namespace nl::ops::profile_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"json({
  "type": "object", "additionalProperties": false,
  "properties": {
    "model": {"type": "string", "x-positional": 1, "x-host-path": true,
              "description": "a model (.onnx, .xml), an engine of TensorRT (.engine, .plan), or Python: script.py, script.py:function, module:function"},
    "arguments": {"x-rare": true, "type": "array", "items": {"type": "string"}, "x-positional": 2, "x-behind-dashes": true,
                  "description": "arguments of the script, after --"},
    "backend": {"x-rare": true, "type": "string", "enum": ["onnxruntime", "openvino", "trtexec", "python"],
                "description": "what runs it (default: chosen by the file name; onnxruntime for .onnx)"},
    "python": {"x-rare": true, "type": "string", "x-own-default": "python3", "x-host-path": true,
               "description": "the Python that runs scripts, functions and OpenVINO; it must have the package neurolens"},
    "passes": {"x-rare": true, "type": "string", "x-host-path": true,
               "description": "instead of a model: the folder in which neurolens.profile of the Python package saved its measurements"},
    "inputs": {"x-rare": true, "type": "string", "x-host-path": true,
               "description": "inputs of the model (.npz); missing ones are generated from the model's shapes"},
    "size": {"x-rare": true, "type": "array", "items": {"type": "string"},
             "description": "name=number for a size that the model leaves open, such as batch=8; may be repeated"},
    "shape": {"x-rare": true, "type": "array", "items": {"type": "string"},
              "description": "input=AxBxC, the shape of a generated input; may be repeated"},
    "provider": {"x-rare": true, "type": "string", "x-own-default": "CPU", "description": "execution provider: CPU, CUDA, TensorRT, ..."},
    "threads": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 1024,
                "description": "threads within a node (default: the library's choice)"},
    "inter_threads": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 1024,
                      "description": "run independent nodes side by side, on this many threads"},
    "optimize": {"x-rare": true, "type": "string", "enum": ["none", "basic", "extended", "all"], "x-own-default": "all",
                 "description": "optimisation of the graph"},
    "warm_up": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 10000,
                "description": "warm-up runs that do not count (default: 3; for whole scripts none)"},
    "iterations": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 10000,
                   "description": "runs with the profiler, and as many without (default: 10 to 200, as many as fit into --seconds; for whole scripts 1)"},
    "seconds": {"type": "integer", "minimum": 1, "maximum": 86400, "default": 5, "description": "time for all these runs"},
    "library": {"x-rare": true, "type": "string", "x-host-path": true,
                "description": "libonnxruntime.so (default: NEUROLENS_ONNXRUNTIME, the system's, that of python3)"},
    "time_limit": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 604800, "default": 3600,
                   "description": "seconds after which everything is stopped"},
    "set": {"type": "array", "items": {"type": "string"},
            "description": "label=value for the run, such as variant=quantised; may be repeated"}
  }})json";

constexpr char kResult[] = R"({
  "type": "object", "required": ["run_id", "library", "inputs", "times", "nodes", "memory", "artifacts"],
  "properties": {
    "run_id": {"type": "string"},
    "library": {"type": "object", "required": ["name", "version", "path", "provider"]},
    "inputs": {"type": "array", "items": {"type": "object", "required": ["name", "type", "shape", "origin"]}},
    "times": {"type": ["object", "null"], "required": ["passes", "overhead"],
              "description": "times of whole iterations, with and without the profiler; see the table iterations. null for trtexec, whose inferences are spans"},
    "nodes": {"type": "object", "required": ["runs", "run_ns", "node_ns", "nodes"],
              "description": "what the profiler says: iterations, their time (null if it gives none), the sum over all nodes and their number; nodes inside other nodes are not counted"},
    "memory": {"type": "object", "required": ["peak_bytes", "stages"]},
    "artifacts": {"type": "string", "description": "folder with the command, its output and a description of the machine"}}})";

bool ends_with_any(const std::string& name, std::initializer_list<const char*> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(), [&](const char* end) { return name.ends_with(end); });
}

/// What runs the model: as given, or by its name.
std::string backend_of(const json& parameters) {
  if (parameters.contains("backend")) return parameters["backend"];
  const std::string model = parameters["model"];
  const std::string name = lower(base_name(model));
  if (is_python_target(model)) return "python";
  if (ends_with_any(name, {".engine", ".plan", ".trt"})) return "trtexec";
  return name.ends_with(".xml") ? "openvino" : "onnxruntime";
}

/// What a backend has no use for is refused rather than left out.
Result<void> check_options(const json& parameters, const std::string& backend) {
  static const std::map<std::string, std::vector<const char*>> kNotTaken = {
      {"onnxruntime", {"arguments", "python"}},
      {"openvino", {"arguments", "size", "provider", "inter_threads", "optimize", "library"}},
      {"python", {"inputs", "size", "shape", "provider", "inter_threads", "optimize", "library"}},
      {"trtexec",
       {"arguments", "python", "inputs", "size", "provider", "threads", "inter_threads", "optimize",
        "warm_up", "library"}}};
  for (const std::string option : kNotTaken.at(backend)) {
    if (parameters.contains(option))
      return Error{ErrorCode::kBadInput, backend + " does not take this parameter: " + option};
  }
  return {};
}

Result<MeasuredProfile> measure(const Context& context, const json& parameters, const std::string& folder) {
  if (parameters.contains("passes")) return take_python_passes(parameters["passes"], folder);
  context.progress({"running " + base_name(parameters["model"].get<std::string>()), 0});
  const std::string backend = backend_of(parameters);
  NL_CHECK(check_options(parameters, backend));
  if (backend == "python") return profile_python(context, parameters, "auto", folder);
  if (backend == "openvino") return profile_python(context, parameters, "openvino", folder);
  if (backend == "trtexec") return profile_trtexec(context, parameters, folder);
  return profile_onnx(context, parameters, folder);
}

/// Files beside which labels may lie.
std::vector<std::string> labelled_files(const json& parameters) {
  const std::string model = parameters.value("model", "");
  if (model.empty() || !path_exists(model)) return {};
  return {model};
}

Result<Outcome> run(Context& context, const json& parameters) {
  if (parameters.contains("model") == parameters.contains("passes"))
    return Error{ErrorCode::kBadInput,
                 "nothing to profile: name a model, or a folder with --passes",
                 "{}",
                 {suggested("profile", {{"model", "model.onnx"}})}};
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  NL_TRY(const auto given,
         given_labels(labelled_files(parameters), parameters.value("set", std::vector<std::string>())));
  NL_TRY(const store::Staging staging, ledger.new_staging());
  const std::string folder = staging.temp() + "/artifacts";
  NL_CHECK(make_folders(folder));
  NL_TRY(const auto measured, measure(context, parameters, folder));
  NL_TRY(auto outcome, keep_profile(context, ledger, folder, measured));
  NL_CHECK(apply_labels(context, ledger, outcome.data["run_id"], given, outcome.warnings));
  return outcome;
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "profile",
      .summary =
          "Measure a model (ONNX, OpenVINO, TensorRT) or Python function with its profiler, and plain, as "
          "one run",
      .use_when =
          "you have a model, engine, network or script and want to run and benchmark it on this machine or "
          "CPU: how long it takes, latency, time per node or operator",
      .not_when = "it is another kind of program: record",
      .example = R"({"model": "model.onnx", "size": ["batch=8"], "threads": 4})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kExec,
      .reach = {.cli = true, .http = false, .mcp = true},
      .run = run,
      .text = profile_text,
  };
  return kOperation;
}

}  // namespace nl::ops::profile_operation
