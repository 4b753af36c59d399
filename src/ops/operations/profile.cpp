#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>

#include "assemble/assemble.h"
#include "base/decimal.h"
#include "base/files.h"
#include "base/path_text.h"
#include "base/sha256.h"
#include "capture/document.h"
#include "capture/model_passes.h"
#include "capture/workload.h"
#include "ops/import_file.h"
#include "ops/iteration_times.h"
#include "ops/run_labels.h"
#include "ops/run_names.h"
#include "ops/text.h"
#include "store/run_summary.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"json({
  "type": "object", "additionalProperties": false, "required": ["model"],
  "properties": {
    "model": {"type": "string", "x-positional": 1, "x-file": true, "description": "an ONNX model (.onnx)"},
    "inputs": {"type": "string", "x-file": true,
               "description": "inputs of the model (.npz); those that are not in it are made up from the model's shapes"},
    "size": {"type": "array", "items": {"type": "string"},
             "description": "name=number for a size that the model leaves open, such as batch=8; may be repeated"},
    "shape": {"type": "array", "items": {"type": "string"},
              "description": "input=AxBxC, the shape of an input that is made up; may be repeated"},
    "provider": {"type": "string", "default": "CPU", "description": "execution provider: CPU, CUDA, TensorRT, ..."},
    "threads": {"type": "integer", "minimum": 1, "maximum": 1024,
                "description": "threads within a node (default: the library's choice)"},
    "inter_threads": {"type": "integer", "minimum": 1, "maximum": 1024,
                      "description": "run independent nodes side by side, on so many threads"},
    "optimize": {"type": "string", "enum": ["none", "basic", "extended", "all"], "default": "all",
                 "description": "optimisation of the graph"},
    "warm_up": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 3,
                "description": "runs before those that count"},
    "iterations": {"type": "integer", "minimum": 1, "maximum": 10000,
                   "description": "runs with the profiler and as many without (default: 10 to 200, as fit into --seconds)"},
    "seconds": {"type": "integer", "minimum": 1, "maximum": 86400, "default": 5, "description": "time for all of them"},
    "library": {"type": "string", "x-file": true,
                "description": "libonnxruntime.so (default: NEUROLENS_ONNXRUNTIME, the system's, that of python3)"},
    "time_limit": {"type": "integer", "minimum": 1, "maximum": 604800, "default": 3600,
                   "description": "seconds after which all is stopped"},
    "set": {"type": "array", "items": {"type": "string"},
            "description": "label=value for the run, such as variant=quantised; may be repeated"}
  }})json";

constexpr char kResult[] = R"({
  "type": "object", "required": ["run_id", "library", "inputs", "times", "nodes", "memory", "artifacts"],
  "properties": {
    "run_id": {"type": "string"},
    "library": {"type": "object", "required": ["version", "path", "provider"]},
    "inputs": {"type": "array", "items": {"type": "object", "required": ["name", "type", "shape", "origin"]}},
    "times": {"type": "object", "required": ["passes", "overhead"],
              "description": "of whole iterations, with and without the profiler; see the table iterations"},
    "nodes": {"type": "object", "required": ["runs", "run_ns", "node_ns", "nodes"],
              "description": "by the profiler: iterations, their time, the sum over all nodes, and how many those were"},
    "memory": {"type": "object", "required": ["peak_bytes", "stages"]},
    "artifacts": {"type": "string", "description": "folder with what was run, what it wrote and what it ran on"}}})";

// ---- What is wanted

/// "name=value" of an option.
Result<std::pair<std::string, std::string>> split_option(const std::string& option, const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0)
    return Error{ErrorCode::kBadInput, "--" + option + " wants name=value, not: " + text};
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

Result<capture::InputOptions> inputs_of(const json& parameters) {
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

/// The file as the process that runs the model will name it.
Result<std::string> whole_path(const std::string& path) {
  if (!path_exists(path)) return Error{ErrorCode::kNotFound, "no such file: " + path};
  std::error_code failed;
  std::string whole = std::filesystem::absolute(path, failed).string();
  if (failed) return errno_error("cannot look at", path, failed.value());
  return whole;
}

Result<capture::PassPlan> plan_of(const json& parameters, const std::string& folder) {
  capture::PassPlan plan;
  NL_TRY(plan.session.model, whole_path(parameters["model"]));
  NL_TRY(plan.library, capture::find_onnx_runtime(parameters.value("library", "")));
  plan.session.provider = parameters.value("provider", "CPU");
  if (parameters.contains("threads")) plan.session.threads = parameters["threads"].get<int>();
  if (parameters.contains("inter_threads"))
    plan.session.inter_threads = parameters["inter_threads"].get<int>();
  plan.session.optimize = parameters.value("optimize", "all");
  plan.session.profile_prefix = folder + "/profile";
  if (parameters.contains("inputs")) {
    NL_TRY(plan.inputs_file, whole_path(parameters["inputs"]));
  }
  NL_TRY(plan.inputs, inputs_of(parameters));
  plan.warm_up = parameters.value("warm_up", int64_t{3});
  plan.iterations = parameters.value("iterations", int64_t{0});
  plan.seconds = static_cast<double>(parameters.value("seconds", int64_t{5}));
  return plan;
}

// ---- Running it

std::string last_line(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return {};
  const size_t end = text->find_last_not_of("\n");
  const size_t begin = end == std::string::npos ? 0 : text->rfind('\n', end) + 1;
  return end == std::string::npos ? "" : text->substr(begin, end - begin + 1);
}

/// Why there is no result: what the process said itself, or how it ended.
Error why_it_failed(const std::string& folder, const capture::WorkloadEnd& end) {
  if (end.process.cut_short) {
    Error why = *end.process.cut_short;
    why.message = "the model was stopped: " + why.message;
    if (why.message.find("did not end") != std::string::npos) why.hint = "--time-limit gives it more";
    return why;
  }
  auto passes = capture::read_passes(folder);
  if (!passes && path_exists(folder + "/error.json")) return passes.error();
  const std::string said = last_line(folder + "/stderr.txt");
  const std::string how = end.process.signal != 0 ? fmt::format("signal {}", end.process.signal)
                                                  : fmt::format("exit code {}", end.process.exit_code);
  return Error{ErrorCode::kUnavailable,
               fmt::format("the model's process ended with {}{}{}", how, said.empty() ? "" : ": ", said)};
}

Result<capture::WorkloadEnd> measure(const Context& context, const std::string& folder, int64_t seconds) {
  std::error_code failed;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", failed).string();
  if (failed) return errno_error("cannot find", "/proc/self/exe", failed.value());
  capture::WorkloadOptions options;
  options.command = {self, capture::kModelProcess, folder};
  options.artifacts = folder;
  options.time_limit = std::chrono::seconds(seconds);
  options.watch = [&context]() -> Result<void> {
    if (context.cancelled()) return Error{ErrorCode::kUnavailable, "cancelled"};
    return {};
  };
  NL_TRY(auto end, capture::run_workload(options));
  if (end.process.exit_code != 0 || end.process.cut_short) return why_it_failed(folder, end);
  return end;
}

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

Result<json> model_json(const std::string& path) {
  NL_TRY(const int64_t bytes, file_size(path));
  NL_TRY(const std::string sha256, sha256_of_file(path));
  return json{{"path", path}, {"bytes", bytes}, {"sha256", sha256}};
}

/// capture.json; the profile stands beside it as profile.json.
Result<void> write_capture(const Context& context, const capture::PassPlan& plan, const json& passes,
                           const capture::WorkloadEnd& end, const std::string& folder) {
  json document = capture::describe_capture(context.command, std::filesystem::current_path().string());
  NL_TRY(document["model"], model_json(plan.session.model));
  document["onnxruntime"] = library_json(plan, passes);
  document["labels"] = labels_of(plan);
  document["clock"] = passes["clock"];
  document["iterations"] = passes["iterations"];
  document["process"] = capture::process_json(end.process);
  NL_CHECK(write_file_durably(folder + "/capture.json", capture::document_text(document)));
  NL_TRY(const bool renamed, rename_to_new(passes["profile"].get<std::string>(), folder + "/profile.json"));
  if (!renamed) return Error{ErrorCode::kInternal, "the profile is there already"};
  remove_tree(folder + "/passes.json");
  return {};
}

// ---- What comes of it

/// By the profiler: its own events around a run and for each node.
Result<json> node_times(store::Connection& connection, const store::RunFiles& files) {
  NL_CHECK(store::create_views(connection, files, false, {"spans"}));
  json nodes = json::object();
  NL_CHECK(connection.stream(
      "SELECT count(*) FILTER (name = 'model_run' AND kind = 'annotation'), "
      "coalesce(sum(dur_ns) FILTER (name = 'model_run' AND kind = 'annotation'), 0)::BIGINT, "
      "coalesce(sum(dur_ns) FILTER (kind = 'op'), 0)::BIGINT, count(*) FILTER (kind = 'op') FROM spans",
      [&](const store::Chunk& chunk) -> Result<void> {
        if (chunk.size() == 0) return {};
        const char* const names[] = {"runs", "run_ns", "node_ns", "nodes"};
        for (size_t i = 0; i < std::size(names); i++) nodes[names[i]] = chunk.int64s(i)[0];
        return {};
      }));
  return nodes;
}

Result<json> figures_of(const std::string& bundle) {
  NL_TRY(const auto files, store::run_files(bundle));
  NL_TRY(auto engine, store::Engine::open(store::summary_engine()));
  NL_TRY(auto connection, engine->connect());
  NL_TRY(json times, iteration_times(connection, files));
  NL_TRY(json nodes, node_times(connection, files));
  return json{{"times", std::move(times)}, {"nodes", std::move(nodes)}};
}

Result<Outcome> outcome_of(const std::string& bundle, const std::string& run_id,
                           const capture::PassPlan& plan, const json& passes) {
  Outcome outcome;
  NL_TRY(outcome.data, figures_of(bundle));
  outcome.data["run_id"] = run_id;
  outcome.data["library"] = {
      {"version", passes["version"]}, {"path", plan.library}, {"provider", plan.session.provider}};
  outcome.data["inputs"] = passes["inputs"];
  outcome.data["memory"] = {{"peak_bytes", passes["peak_memory_bytes"]}, {"stages", passes["memory"]}};
  outcome.data["artifacts"] = bundle + "/artifacts";
  for (const std::string size : passes["guessed_sizes"])
    outcome.warnings.push_back("the model leaves the size " + size +
                               " open: taken for 1; say --size or --shape");
  outcome.shown = {{"model", base_name(plan.session.model)}, {"threads", plan.session.threads.value_or(0)}};
  outcome.next = {"neurolens analyze " + short_id(run_id) + " --window model_run",
                  "neurolens view " + short_id(run_id)};
  return outcome;
}

Result<Outcome> run(Context& context, const json& parameters) {
  NL_CHECK(may_name_files(context));
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  NL_TRY(const auto given,
         given_labels({parameters["model"]}, parameters.value("set", std::vector<std::string>())));
  NL_TRY(const store::Staging staging, ledger.new_staging());
  const std::string folder = staging.temp() + "/artifacts";
  NL_CHECK(make_folders(folder));
  NL_TRY(const capture::PassPlan plan, plan_of(parameters, folder));
  NL_CHECK(write_file_durably(folder + "/plan.json", capture::plan_json(plan).dump(1)));
  context.progress({"running " + base_name(plan.session.model), 0});
  NL_TRY(const auto end, measure(context, folder, parameters.value("time_limit", int64_t{3600})));
  NL_TRY(const json passes, capture::read_passes(folder));
  NL_CHECK(write_capture(context, plan, passes, end, folder));
  ImportOptions options;
  options.as_one = true;
  options.artifacts = folder;
  NL_TRY(const auto report,
         import_files(context, ledger, {folder + "/capture.json", folder + "/profile.json"}, options));
  NL_TRY(auto outcome, outcome_of(ledger.run_folder(report.run_id), report.run_id, plan, passes));
  NL_CHECK(apply_labels(context, ledger, report.run_id, given, outcome.warnings));
  return outcome;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  const json& data = outcome.data;
  const json& library = data["library"];
  const int threads = outcome.shown["threads"];
  std::string out = fmt::format("{}  {} on ONNX Runtime {}, {}{}\n", bold(short_id(data["run_id"]), style),
                                outcome.shown["model"].get<std::string>(),
                                library["version"].get<std::string>(), library["provider"].get<std::string>(),
                                threads > 0 ? ", " + counted(threads, "thread") : "");
  out += iteration_text(data["times"], style);
  const int64_t runs = data["nodes"]["runs"], run_ns = data["nodes"]["run_ns"],
                node_ns = data["nodes"]["node_ns"];
  if (runs > 0 && run_ns > 0)
    out += fmt::format("  {}  {} a run, {} in all by the profiler, {} of its {}\n", dim("nodes   ", style),
                       grouped(data["nodes"]["nodes"].get<int64_t>() / runs), duration_text(node_ns / runs),
                       percent_text(static_cast<double>(node_ns) / static_cast<double>(run_ns)),
                       duration_text(run_ns / runs));
  out += fmt::format("  {}  {} at most\n", dim("memory  ", style), bytes_text(data["memory"]["peak_bytes"]));
  for (const json& input : data["inputs"]) {
    std::string shape;
    for (const json& n : input["shape"])
      shape += (shape.empty() ? "" : "x") + std::to_string(n.get<int64_t>());
    out += fmt::format("  {}  {}: {} {}, {}\n", dim("input   ", style), input["name"].get<std::string>(),
                       input["type"].get<std::string>(), shape.empty() ? "scalar" : shape,
                       input["origin"].get<std::string>());
  }
  return out;
}

}  // namespace

const Operation& operation_profile() {
  static constexpr Operation kOperation{
      "profile",
      "Run a model with and without its profiler, and keep both as a run",
      "you have an ONNX model and want to know where its time goes",
      "you have a profile already: import; other programs: their own profiler",
      "neurolens profile model.onnx --size batch=8 --threads 4",
      kParameters,
      kResult,
      Effect::kExec,
      {.cli = true, .http = false, .mcp = true},
      Stream::kNone,
      run,
      text};
  return kOperation;
}

}  // namespace nl::ops
