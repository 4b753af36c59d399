#include "ops/capture/profile_onnx.h"

#include <filesystem>

#include "base/decimal.h"
#include "base/files.h"
#include "base/path_text.h"
#include "base/private_folder.h"
#include "capture/document.h"
#include "capture/model_passes.h"

namespace nl::ops {
namespace {

using nlohmann::json;

// ---- What is wanted

/// "name=value" of an option.
Result<std::pair<std::string, std::string>> split_option(const std::string& option, const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0)
    return Error{ErrorCode::kBadInput, "--" + option + " must be name=value, not: " + text};
  return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

Result<int64_t> size_of(const std::string& option, std::string_view text) {
  int64_t size = 0;
  if (parse_int64(text, size) && size >= 0) return size;
  return Error{ErrorCode::kBadInput, "--" + option + ": not a size: " + std::string(text)};
}

Result<std::vector<int64_t>> shape_of(std::string_view text) {
  std::vector<int64_t> shape;
  while (!text.empty()) {
    const std::string_view size = text.substr(0, text.find('x'));
    text.remove_prefix(std::min(text.size(), size.size() + 1));
    NL_TRY(const int64_t n, size_of("shape", size));
    shape.push_back(n);
  }
  return shape;
}

Result<capture::PassPlan> plan_of(const Environment& surroundings, const json& parameters,
                                  const std::string& folder) {
  capture::PassPlan plan;
  NL_TRY(plan.session.model, whole_path(surroundings, parameters["model"]));
  NL_TRY(plan.library, capture::find_onnx_runtime(surroundings, parameters.value("library", "")));
  plan.session.provider = parameters.value("provider", "CPU");
  if (parameters.contains("threads")) plan.session.threads = parameters["threads"].get<int>();
  if (parameters.contains("inter_threads"))
    plan.session.inter_threads = parameters["inter_threads"].get<int>();
  plan.session.optimize = parameters.value("optimize", "all");
  plan.session.profile_prefix = folder + "/profile";
  if (parameters.contains("inputs")) {
    NL_TRY(plan.inputs_file, whole_path(surroundings, parameters["inputs"]));
  }
  NL_TRY(plan.inputs, input_options(parameters));
  plan.warm_up = parameters.value("warm_up", int64_t{3});
  plan.iterations = parameters.value("iterations", int64_t{0});
  plan.seconds = parameters["seconds"];
  return plan;
}

// ---- What comes of it

json library_json(const capture::PassPlan& plan, const json& passes) {
  json library = {{"version", passes["version"]},
                  {"path", plan.library},
                  {"provider", plan.session.provider},
                  {"providers", passes["providers"]},
                  {"optimize", plan.session.optimize},
                  {"inputs", passes["inputs"]},
                  {"guessed_sizes", passes["guessed_sizes"]},
                  {"load_ns", passes["load_ns"]},
                  {"memory", passes["memory"]},
                  {"peak_memory_bytes", passes["peak_memory_bytes"]}};
  if (plan.session.threads) library["threads"] = *plan.session.threads;
  if (plan.session.inter_threads) library["inter_threads"] = *plan.session.inter_threads;
  return library;
}

/// What tells this run from others of the same model.
json labels_of(const capture::PassPlan& plan) {
  std::string model = base_name(plan.session.model);
  if (const size_t end = model.rfind(".onnx"); end != std::string::npos && end > 0) model.resize(end);
  json labels = {{"model", model}, {"provider", plan.session.provider}, {"optimize", plan.session.optimize}};
  if (plan.session.threads) labels["threads"] = std::to_string(*plan.session.threads);
  if (plan.session.inter_threads) labels["inter_threads"] = std::to_string(*plan.session.inter_threads);
  for (const auto& [name, size] : plan.inputs.sizes) {
    if (name == "batch" || name == "batch_size") labels["batch"] = std::to_string(size);
  }
  return labels;
}

std::vector<std::string> warnings_of(const json& passes) {
  std::vector<std::string> warnings;
  for (const std::string size : passes["guessed_sizes"])
    warnings.push_back("the model leaves the size " + size +
                       " open: 1 is used; set it with --size or --shape");
  return warnings;
}

/// The process that measures, and what it wrote.
Result<json> run_passes(const Context& context, const capture::PassPlan& plan, const std::string& folder,
                        int64_t time_limit, capture::WorkloadEnd& end) {
  NL_TRY(const FolderAside own, make_private_folder(*context.environment, PrivateUse::kFiles));
  const std::string plan_path = own.path() + "/plan.json";
  NL_CHECK(write_file_durably(plan_path, capture::plan_json(plan).dump(1)));
  std::error_code failed;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", failed).string();
  if (failed) return errno_error("cannot find", "/proc/self/exe", failed.value());
  NL_TRY(end, run_measuring(context, {self, capture::kModelProcess, plan_path, folder}, folder, time_limit));
  return capture::read_passes(folder);
}

/// What both kinds of measurement say of it.
Result<MeasuredProfile> measured_of(const capture::PassPlan& plan, const json& passes,
                                    const ProcessEnd& process) {
  MeasuredProfile measured;
  NL_TRY(measured.document["model"], capture::file_json(plan.session.model));
  measured.document.update({{"onnxruntime", library_json(plan, passes)},
                            {"labels", labels_of(plan)},
                            {"clock", passes["clock"]},
                            {"iterations", passes["iterations"]},
                            {"process", capture::process_json(process)}});
  measured.library = {{"name", "onnxruntime"},
                      {"version", passes["version"]},
                      {"path", plan.library},
                      {"provider", plan.session.provider}};
  measured.inputs = passes["inputs"];
  measured.memory = {{"peak_bytes", passes["peak_memory_bytes"]}, {"stages", passes["memory"]}};
  measured.model = base_name(plan.session.model);
  measured.threads = plan.session.threads.value_or(0);
  measured.warnings = warnings_of(passes);
  return measured;
}

}  // namespace

Result<capture::InputOptions> input_options(const json& parameters) {
  capture::InputOptions inputs;
  for (const std::string& text : parameters.value("size", std::vector<std::string>())) {
    NL_TRY(const auto pair, split_option("size", text));
    NL_TRY(inputs.sizes[pair.first], size_of("size", pair.second));
  }
  for (const std::string& text : parameters.value("shape", std::vector<std::string>())) {
    NL_TRY(const auto pair, split_option("shape", text));
    NL_TRY(inputs.shapes[pair.first], shape_of(pair.second));
  }
  return inputs;
}

Result<MeasuredProfile> profile_onnx(const Context& context, const json& parameters,
                                     const std::string& folder) {
  NL_TRY(const capture::PassPlan plan, plan_of(*context.environment, parameters, folder));
  capture::WorkloadEnd end;
  NL_TRY(const json passes, run_passes(context, plan, folder, parameters["time_limit"], end));
  NL_TRY(const bool renamed, rename_to_new(passes["profile"].get<std::string>(), folder + "/profile.json"));
  if (!renamed) return Error{ErrorCode::kInternal, "the profile exists already"};
  NL_TRY(auto measured, measured_of(plan, passes, end.process));
  measured.profiles = {"profile.json"};
  return measured;
}

Result<MeasuredProfile> time_onnx(const Context& context, const json& parameters, const std::string& folder) {
  NL_TRY(capture::PassPlan plan, plan_of(*context.environment, parameters, folder));
  plan.profiled = false;
  capture::WorkloadEnd end;
  NL_TRY(const json passes, run_passes(context, plan, folder, parameters["time_limit"], end));
  return measured_of(plan, passes, end.process);
}

}  // namespace nl::ops
