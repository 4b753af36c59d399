#include "ops/lab/measure_side.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/decimal.h"
#include "base/files.h"
#include "base/json.h"
#include "base/printed_values.h"
#include "base/small_json.h"
#include "base/text.h"
#include "capture/document.h"
#include "capture/gpu_telemetry.h"
#include "capture/run/workload.h"
#include "capture/tools/pass.h"
#include "lab/machine/gpu_conditions.h"
#include "lab/machine/pinned_thread.h"
#include "ops/capture/profile_onnx.h"
#include "ops/capture/profile_python.h"
#include "stats/sample.h"

namespace nl::ops {
namespace {

using lab::Sample;
using nlohmann::json;

// ---- Commands

/// In whole nanoseconds: the last that is a number.
Result<int64_t> printed_time(const std::string& folder, const std::string& name) {
  constexpr int64_t kMostOutput = int64_t{64} << 20;
  NL_TRY(const std::string text, read_small_file(folder + "/stdout.txt", kMostOutput));
  std::optional<int64_t> found;
  for (const std::string_view value : printed_values(text, name)) {
    int64_t ns = 0;
    if (parse_decimal(value, 6, ns) != DecimalParse::kBad && ns > 0) found = ns;
  }
  if (found) return *found;
  return Error{ErrorCode::kBadInput, fmt::format("the program printed no line {}=MILLISECONDS", name)};
}

Error why_it_failed(const std::string& folder, const ProcessEnd& end) {
  if (end.cut_short) return *end.cut_short;
  const std::string said = capture::last_words(folder);
  return Error{ErrorCode::kUnavailable,
               fmt::format("it ended with {}{}{}",
                           end.signal != 0 ? fmt::format("signal {}", end.signal)
                                           : fmt::format("exit code {}", end.exit_code),
                           said.empty() ? "" : ": ", said)};
}

Result<json> run_command(const Context& context, const lab::Target& target, const lab::Side& side,
                         const RunFolders& folders, Sample& sample) {
  capture::WorkloadOptions options;
  options.command = side.command;
  options.folder = side.folder;
  options.surroundings = context.environment;
  options.artifacts = folders.artifacts;
  options.ends_with_us = true;
  options.time_limit = std::chrono::seconds(target.time_limit_seconds);
  options.watch = [&context]() -> Result<void> {
    if (context.cancelled()) return cancelled_error();
    return {};
  };
  const auto clock = wire::read_clock_pair();
  NL_TRY(const auto end, capture::run_workload(options));
  if (end.process.cut_short && end.process.cut_short->code == ErrorCode::kCancelled) return cancelled_error();
  if (end.process.exit_code != 0 || end.process.cut_short)
    return why_it_failed(folders.artifacts, end.process);
  sample.value_ns = end.process.wall_ns;
  if (!target.printed.empty()) {
    NL_TRY(sample.value_ns, printed_time(folders.artifacts, target.printed));
  }
  sample.cpu_ns = end.process.user_ns + end.process.system_ns;
  sample.peak_memory_bytes = end.process.peak_memory_bytes;
  const json clock_json = capture::clock_pair_json(clock);
  const int64_t start =
      end.started_unix_ns - clock_json["unix_ns"].get<int64_t>() + clock_json["monotonic_ns"].get<int64_t>();
  return json{{"workload", capture::workload_json(options, end)},
              {"clock", clock_json},
              {"iterations",
               {{{"pass", "unprofiled"},
                 {"warm_up", false},
                 {"start_ns", start},
                 {"dur_ns", sample.value_ns},
                 {"cpu_ns", sample.cpu_ns}}}}};
}

// ---- Models and functions

/// Median and all of the iterations that count, and the time until the first of all was done.
Result<void> take_iterations(const json& document, Sample& sample) {
  std::vector<double> values;
  for (const json& iteration : document["iterations"]) {
    const auto duration = whole_number(iteration, "dur_ns");
    if (iteration.value("pass", "") != "unprofiled" || !duration) continue;
    if (!sample.first_ns) sample.first_ns = *duration;
    if (iteration.value("warm_up", false)) continue;
    sample.iterations_ns.push_back(*duration);
    values.push_back(static_cast<double>(*duration));
  }
  if (values.empty()) return Error{ErrorCode::kUnavailable, "no iteration was timed"};
  sample.value_ns = static_cast<int64_t>(stats::median(stats::sorted(values)));
  const json loads = document.value("onnxruntime", json::object()).value("load_ns", json::object());
  if (sample.first_ns && loads.contains("unprofiled")) *sample.first_ns += loads["unprofiled"].get<int64_t>();
  return {};
}

Result<json> run_workload_of(const Context& context, const lab::Target& target, const lab::Side& side,
                             const RunFolders& folders, Sample& sample) {
  const json parameters = profile_parameters(target, side);
  NL_TRY(const auto measured, side.kind == lab::SideKind::kModel
                                  ? time_onnx(context, parameters, folders.artifacts)
                                  : profile_python(context, parameters, "auto", folders.artifacts));
  NL_CHECK(take_iterations(measured.document, sample));
  const json& process = measured.document["process"];
  sample.cpu_ns = process["user_ns"].get<int64_t>() + process["system_ns"].get<int64_t>();
  if (measured.memory.contains("peak_bytes") && measured.memory["peak_bytes"].is_number())
    sample.peak_memory_bytes = measured.memory["peak_bytes"].get<int64_t>();
  return measured.document;
}

// ---- Conditions

/// Power, clocks and temperature of GPUs are written beside the run, as far as there are any.
using Telemetry = Result<std::unique_ptr<capture::GpuTelemetry>>;

void add_gpus(Telemetry telemetry, const std::string& path, lab::RunConditions& conditions) {
  constexpr int64_t kMostTelemetry = int64_t{64} << 20;
  if (telemetry) telemetry->reset();  // the file is complete then
  const auto csv = telemetry ? read_small_file(path, kMostTelemetry) : Result<std::string>(telemetry.error());
  if (!csv) {
    conditions.absent["gpus"] = csv.error().message;
    return;
  }
  conditions.gpus = lab::gpu_conditions(*csv);
  const auto is_slowed = [](const lab::GpuConditions& gpu) { return gpu.slowed.value_or(0) > 0; };
  if (std::any_of(conditions.gpus.begin(), conditions.gpus.end(), is_slowed))
    conditions.marks.emplace_back("gpu_slowed");
}

}  // namespace

Environment with_variables(const Environment& surroundings, const std::map<std::string, std::string>& added,
                           std::string folder) {
  std::vector<std::string> variables = surroundings.variables();
  std::erase_if(variables, [&](const std::string& variable) {
    return added.contains(variable.substr(0, variable.find('=')));
  });
  for (const auto& [name, value] : added) variables.push_back(name + "=" + value);
  return {std::move(variables), std::move(folder)};
}

Environment environment_of(const Context& context, const lab::Target& target, const lab::Side& side,
                           const RunFolders& folders) {
  auto added = side.environment;
  added["NEUROLENS_SEED"] = std::to_string(target.seed_or_default());
  added["NEUROLENS_SIDE"] = side.name;
  added["NEUROLENS_OUTPUT"] = folders.output;
  return with_variables(*context.environment, added, side.folder);
}

json profile_parameters(const lab::Target& target, const lab::Side& side) {
  const auto in_folder = [&](const std::string& path) {
    return (std::filesystem::path(side.folder) / path).lexically_normal().string();
  };
  const bool is_module = side.kind == lab::SideKind::kPython && !has_part(side.workload, ".py");
  json parameters = {{"model", is_module ? side.workload : in_folder(side.workload)},
                     {"seconds", 1},
                     {"time_limit", target.time_limit_seconds}};
  if (target.iterations > 0) parameters["iterations"] = target.iterations;
  for (const auto& [name, value] : side.options) {
    int64_t number = 0;
    const bool is_count = name == "threads" || name == "inter_threads";
    if (is_count && parse_int64(value, number)) {
      parameters[name] = number;
    } else {
      parameters[name == "data" ? "inputs" : name] = name == "data" ? in_folder(value) : value;
    }
  }
  for (const auto& [name, value] : side.sizes) parameters["size"].push_back(name + "=" + value);
  return parameters;
}

Result<Sample> measure_side(const Context& given, const lab::Target& target, const lab::Side& side,
                            const RunFolders& folders, json document) {
  NL_CHECK(make_folders(folders.artifacts));
  NL_CHECK(make_folders(folders.output));
  const Environment environment = environment_of(given, target, side, folders);
  Context context = given;
  context.environment = &environment;
  NL_TRY(const auto pinned, lab::PinnedThread::pin(target.pin));
  Sample sample;
  sample.started_unix_ns = wire::clock_ns(CLOCK_REALTIME);
  const std::string telemetry_path = folders.artifacts + "/" + capture::kTelemetryFile;
  Telemetry telemetry = capture::GpuTelemetry::start(environment, telemetry_path);
  const auto before = lab::read_machine();
  NL_TRY(const json measured, side.kind == lab::SideKind::kCommand
                                  ? run_command(context, target, side, folders, sample)
                                  : run_workload_of(context, target, side, folders, sample));
  sample.conditions = lab::conditions_between(before, lab::read_machine(), sample.cpu_ns);
  add_gpus(std::move(telemetry), telemetry_path, sample.conditions);
  document.update(measured, true);
  document["conditions"] = to_json_tree(sample.conditions);
  NL_CHECK(write_file_durably(folders.artifacts + "/capture.json", capture::document_text(document)));
  return sample;
}

}  // namespace nl::ops
