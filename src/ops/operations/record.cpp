#include <fmt/core.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/aside.h"
#include "base/files.h"
#include "base/path_text.h"
#include "base/permissions.h"
#include "capture/document.h"
#include "capture/gpu_telemetry.h"
#include "capture/record/recorder.h"
#include "capture/run/workload.h"
#include "ops/capture/flight_dumps.h"
#include "ops/capture/live_pages.h"
#include "ops/capture/record_samples.h"
#include "ops/capture/recordings.h"
#include "ops/import/import_file.h"
#include "ops/runs/run_labels.h"
#include "ops/runs/run_names.h"
#include "ops/text/text.h"

namespace nl::ops::record_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"json({
  "type": "object", "additionalProperties": false,
  "properties": {
    "command": {"type": "array", "items": {"type": "string"}, "x-positional": 1, "x-host-path": true, "x-behind-dashes": true,
                "description": "the program and its arguments, after --"},
    "folder": {"x-rare": true, "type": "string", "x-host-path": true, "description": "folder to run it in (default: this one)"},
    "silent": {"x-rare": true, "type": "boolean", "description": "do not show the program's output; it is still kept"},
    "time_limit": {"type": "integer", "minimum": 1, "maximum": 604800,
                   "description": "seconds after which the program is asked to end (default: none)"},
    "ring": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 1000000,
             "description": "flight recorder: keep only the newest markers, up to this many MB; SIGUSR1 or record --dump makes a run from them"},
    "limit": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 1000000, "default": 4096,
              "description": "largest size of the markers on disk in MB; further markers are lost, and counted"},
    "wait": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 60000,
             "description": "milliseconds that a thread of the program waits for free space before it loses markers (default: none)"},
    "hz": {"x-rare": true, "type": "integer", "minimum": 0, "maximum": 9999, "default": 99,
           "description": "samples per second of processor time, for each thread; 0: none"},
    "python": {"x-rare": true, "type": "boolean", "description": "also sample the Python functions that threads are in (CPython 3.9 to 3.13)"},
    "off_cpu": {"x-rare": true, "type": "boolean", "description": "also record when threads do not run (waiting, or preempted), as spans"},
    "trigger_on": {"x-rare": true, "type": "string", "description": "with --ring: NAME=MS makes a run whenever a scope of this name took longer than MS milliseconds"},
    "leave_gpu": {"x-rare": true, "type": "boolean",
                  "description": "do not record GPU work: needed if a profiler such as torch.profiler runs inside the program, because CUPTI serves only one"},
    "live": {"x-rare": true, "type": "boolean", "description": "serve a page to this machine that shows the recording while it runs"},
    "dump": {"x-rare": true, "type": "boolean", "description": "make a run from what the flight recorders of this ledger hold now; they keep running"},
    "recover": {"x-rare": true, "type": "boolean", "description": "import what killed recorders left behind"},
    "set": {"type": "array", "items": {"type": "string"},
            "description": "label=value for the run, such as model=llama-3-8b; may be repeated"}
  }})json";

constexpr char kResult[] = R"json({
  "description": "one recording; with recover and dump: {runs: [recording]}",
  "definitions": {"recording": {"type": "object", "required": ["run_id", "markers", "samples", "artifacts"],
    "properties": {
      "run_id": {"type": "string"},
      "workload": {"type": "object", "required": ["command", "exit_code", "wall_ns", "user_ns", "system_ns"]},
      "markers": {"type": "object", "required": ["recorded", "lost"],
                  "description": "recorded + lost (by reason) = set by the program and reported by its GPUs"},
      "samples": {"type": "object", "required": ["recorded", "lost", "with_kernel"],
                  "description": "samples of processor time; absent_reason says why there are none"},
      "artifacts": {"type": "string", "description": "folder with the command, its output and a description of the machine"}}}},
  "anyOf": [{"$ref": "#/definitions/recording"},
            {"type": "object", "required": ["runs"],
             "properties": {"runs": {"type": "array", "items": {"$ref": "#/definitions/recording"}}}}]})json";

// ---- The folder of a recording

Result<std::string> new_folder(const Context& context) {
  const std::string folder = fmt::format("{}/{}-{}", recordings_folder(context.ledger_folder),
                                         wire::clock_ns(CLOCK_REALTIME), unique_text());
  NL_CHECK(make_shared_folders(recordings_folder(context.ledger_folder)));
  // Of the caller alone, even if the ledger is shared: what the program says, and the memory that it shares.
  if (::mkdir(folder.c_str(), 0700) != 0) return errno_error("cannot create folder", folder, errno);
  NL_CHECK(make_folders(folder + "/artifacts"));
  return folder;
}

// ---- Running

Result<std::optional<capture::SlowScope>> slow_scope(const json& parameters) {
  std::optional<capture::SlowScope> slow;
  if (!parameters.contains("trigger_on")) return slow;
  if (!parameters.contains("ring"))
    return Error{ErrorCode::kBadInput, "--trigger-on needs --ring", "add --ring 64"};
  NL_TRY(slow, capture::SlowScope::parse(parameters["trigger_on"]));
  return slow;
}

capture::RecorderOptions recorder_options(const json& parameters, const std::string& folder) {
  constexpr int64_t kMegabyte = 1'000'000;
  capture::RecorderOptions options;
  options.folder = folder + "/markers";
  options.limit_bytes = parameters["limit"].get<int64_t>() * kMegabyte;
  options.with_gpu = !parameters.value("leave_gpu", false);
  if (parameters.contains("wait")) options.wait_ms = parameters["wait"].get<int>();
  if (parameters.contains("ring")) {
    options.is_flight_recorder = true;
    options.limit_bytes = parameters["ring"].get<int64_t>() * kMegabyte;
  }
  return options;
}

capture::WorkloadOptions workload_options(const Context& context, const json& parameters,
                                          const std::string& folder) {
  capture::WorkloadOptions options;
  options.command = parameters["command"].get<std::vector<std::string>>();
  options.folder = parameters.value("folder", "");
  options.artifacts = folder + "/artifacts";
  options.echo = !parameters.value("silent", false);
  options.input = context.workload_input;
  options.surroundings = context.environment;
  if (parameters.contains("time_limit"))
    options.time_limit = std::chrono::seconds(parameters["time_limit"].get<int64_t>());
  options.watch = [&context]() -> Result<void> {
    if (context.cancelled()) return Error{ErrorCode::kCancelled, "interrupted"};
    return {};
  };
  return options;
}

Result<void> write_capture(const json& document, const std::string& folder) {
  return replace_file(folder + "/artifacts/capture.json", capture::document_text(document));
}

json iteration_of(const capture::WorkloadEnd& end, const json& clock) {
  const ProcessEnd& process = end.process;
  const int64_t start =
      end.started_unix_ns - clock["unix_ns"].get<int64_t>() + clock["monotonic_ns"].get<int64_t>();
  return {{"pass", "recorded"},
          {"warm_up", false},
          {"start_ns", start},
          {"dur_ns", process.wall_ns},
          {"cpu_ns", process.user_ns + process.system_ns}};
}

// ---- What comes of it

/// A program may set no markers: then the run holds how it ran. What was recorded is imported even if Ctrl-C
/// ended it.
Result<json> import_recording(Context context, store::Ledger& ledger, const std::string& folder,
                              const capture::RecordingEnd& end, const capture::SamplingEnd& samples) {
  context.cancelled = [] { return false; };
  const std::string artifacts = folder + "/artifacts";
  std::vector<std::string> paths = {artifacts + "/capture.json"};
  const auto add = [&](uint64_t recorded, const std::string& path, const char* name) -> Result<void> {
    if (recorded == 0) return {};
    paths.push_back(artifacts + name);
    NL_CHECK(rename_to_new(path, paths.back()));
    return {};
  };
  NL_CHECK(add(end.recorded, end.path, "/recording.nlr"));
  NL_CHECK(add(samples.recorded, samples.path, "/samples.nlr"));
  if (path_exists(artifacts + "/" + capture::kTelemetryFile))
    paths.push_back(artifacts + "/" + capture::kTelemetryFile);
  ImportOptions options;
  options.as_one = true;
  options.artifacts = artifacts;
  NL_TRY(const auto report, import_files(context, ledger, paths, options));
  remove_tree(folder);
  return json{{"run_id", report.run_id},
              {"markers", {{"recorded", end.recorded}, {"lost", capture::losses_json(end.lost)}}},
              {"samples", samples_json(samples)},
              {"artifacts", ledger.run_folder(report.run_id) + "/artifacts"}};
}

void warn(const json& recording, std::vector<std::string>& warnings) {
  for (const auto& [reason, n] : recording["markers"]["lost"].items())
    warnings.push_back(fmt::format("{} lost: {}", counted(n, "marker"), reason));
  warn_of_samples(recording["samples"], warnings);
  const json workload = recording.value("workload", json::object());
  if (workload.contains("cut_short"))
    warnings.push_back("the program was stopped: " + workload["cut_short"].get<std::string>());
  if (workload.value("strays_ended", 0) > 0)
    warnings.push_back(counted(workload["strays_ended"], "process", "processes") +
                       " that the program left running were ended");
}

/// What a flight recorder holds by now, in a folder of its own; the recording goes on.
Result<json> import_dump(Context context, const std::string& folder, const capture::RecordingEnd& end,
                         const GivenLabels& labels) {
  const std::string dump = folder + "/dump";
  NL_CHECK(make_folders(dump + "/artifacts"));
  NL_TRY(const std::string document, read_file(folder + "/artifacts/capture.json"));
  NL_CHECK(replace_file(dump + "/artifacts/capture.json", document));
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  NL_TRY(json recording, import_recording(context, ledger, dump, end, {"not in a dump"}));
  std::vector<std::string> warnings;
  NL_CHECK(apply_labels(context, ledger, recording["run_id"], labels, warnings));
  return recording;
}

/// What another tool has asked for is left to it.
void warn_of_other_tools(const Environment& surroundings, std::vector<std::string>& warnings) {
  for (const auto& [variable, what] : {std::pair{wire::kNvtxVariable, "ranges of NVTX go to"},
                                       std::pair{wire::kCudaVariable, "GPU work is left to"}}) {
    if (surroundings.has(variable))
      warnings.push_back(fmt::format("{} is set: {} {}", variable, what, surroundings.get(variable)));
  }
}

json describe(const Context& context, const capture::WorkloadOptions& workload) {
  json document =
      capture::describe_capture(*context.environment, context.command,
                                workload.folder.empty() ? context.environment->folder() : workload.folder);
  document["clock"] = capture::clock_pair_json(wire::read_clock_pair());
  return document;
}

struct Recorded {
  capture::WorkloadEnd workload = {};
  capture::RecordingEnd markers = {};
  capture::SamplingEnd samples = {};
};

/// The program, with all that is recorded of it.
Result<Recorded> run_recorded(const capture::RecorderOptions& recorder, capture::WorkloadOptions& workload,
                              const json& parameters, const std::string& folder) {
  Recorded recorded;
  const auto telemetry =
      capture::GpuTelemetry::start(*workload.surroundings, folder + "/artifacts/" + capture::kTelemetryFile);
  NL_TRY(recorded.markers, capture::record_around(recorder, [&](const auto& environment) -> Result<void> {
           workload.environment = environment;
           NL_TRY(recorded.samples, run_sampled(parameters, folder, [&]() -> Result<void> {
                    NL_TRY(recorded.workload, capture::run_workload(workload));
                    return {};
                  }));
           return {};
         }));
  return recorded;
}

Result<std::optional<LivePages>> live_pages(const Context& context, const json& parameters,
                                            const std::string& folder) {
  std::optional<LivePages> pages;
  if (!parameters.value("live", false)) return pages;
  auto started = LivePages::start(*context.environment, context.ledger_folder, base_name(folder));
  if (!started) {
    remove_tree(folder);
    return started.error();
  }
  pages.emplace(std::move(*started));
  return pages;
}

Result<Outcome> outcome_of(Context& context, store::Ledger& ledger, const std::string& folder,
                           const Recorded& recorded, const GivenLabels& given) {
  Outcome outcome;
  NL_TRY(outcome.data, import_recording(context, ledger, folder, recorded.markers, recorded.samples));
  const std::string run_id = outcome.data["run_id"];
  NL_CHECK(apply_labels(context, ledger, run_id, given, outcome.warnings));
  outcome.exit_code = recorded.workload.process.exit_code == 0 ? 0 : 1;
  outcome.next = {suggested("show", {{"run", short_id(run_id)}})};
  return outcome;
}

Result<Outcome> record(Context& context, store::Ledger& ledger, const json& parameters) {
  NL_TRY(const auto given, given_labels({}, parameters.value("set", std::vector<std::string>())));
  NL_TRY(auto slow, slow_scope(parameters));
  if (parameters.value("live", false) && context.face != Face::kCli)
    return Error{ErrorCode::kBadInput,
                 "a page is opened from the command line alone",
                 "record without live, and ask {} meanwhile",
                 {suggested("live")}};
  NL_TRY(const std::string folder, new_folder(context));
  auto recorder = recorder_options(parameters, folder);
  auto workload = workload_options(context, parameters, folder);
  recorder.surroundings = context.environment;
  recorder.slow_scope = std::move(slow);
  std::optional<FlightDumps> dumps;
  if (recorder.is_flight_recorder) {
    dumps.emplace(folder,
                  [&](const capture::RecordingEnd& end) { return import_dump(context, folder, end, given); });
    dumps->serve(recorder, workload);
  }
  json document = describe(context, workload);
  document["recording"] = base_name(folder);  // so that whoever looked at it finds the run
  NL_CHECK(write_capture(document, folder));
  NL_TRY(const auto pages, live_pages(context, parameters, folder));
  const auto recorded = run_recorded(recorder, workload, parameters, folder);
  if (dumps) dumps->finish();
  if (!recorded) {
    remove_tree(folder);
    return recorded.error();
  }
  document["workload"] = capture::workload_json(workload, recorded->workload);
  document["iterations"] = {iteration_of(recorded->workload, document["clock"])};
  NL_CHECK(write_capture(document, folder));
  NL_TRY(Outcome outcome, outcome_of(context, ledger, folder, *recorded, given));
  outcome.data["workload"] = document["workload"];
  warn(outcome.data, outcome.warnings);
  warn_of_other_tools(*context.environment, outcome.warnings);
  const auto& notices = recorded->markers.notices;
  outcome.warnings.insert(outcome.warnings.end(), notices.begin(), notices.end());
  return outcome;
}

/// What is still being recorded is left alone, and what another user recorded is left to that user.
Result<Outcome> recover_all(Context& context, store::Ledger& ledger) {
  Outcome outcome;
  outcome.data = {{"runs", json::array()}};
  for (const std::string& name : list_recordings(context.ledger_folder)) {
    const std::string folder = recordings_folder(context.ledger_folder) + "/" + name;
    if (!other_owner(folder).empty()) continue;
    const auto end = capture::recover(folder + "/markers");
    if (!end && end.error().code == ErrorCode::kConflict) continue;
    auto recording = end ? import_recording(context, ledger, folder, *end, recovered_samples(folder))
                         : Result<json>(end.error());
    if (recording) {
      warn(*recording, outcome.warnings);
      outcome.data["runs"].push_back(std::move(*recording));
    } else {
      outcome.warnings.push_back(folder + ": " + recording.error().message);
      outcome.exit_code = 2;
    }
  }
  if (!outcome.data["runs"].empty())
    outcome.next = {suggested("show", {{"run", short_id(outcome.data["runs"].back()["run_id"])}})};
  return outcome;
}

Result<Outcome> dump_all(const Context& context) {
  Outcome outcome;
  NL_TRY(outcome.data["runs"], dump_recordings(context.ledger_folder, context.cancelled));
  outcome.next = {suggested("show", {{"run", short_id(outcome.data["runs"].back()["run_id"])}})};
  return outcome;
}

Result<Outcome> run(Context& context, const json& parameters) {
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  NL_CHECK(ledger.may_write());
  if (parameters.value("recover", false)) return recover_all(context, ledger);
  if (parameters.value("dump", false)) return dump_all(context);
  if (!parameters.contains("command") || parameters["command"].empty())
    return Error{ErrorCode::kBadInput,
                 "no command to record",
                 "{}",
                 {suggested("record", {{"command", {"python", "serve.py"}}})}};
  return record(context, ledger, parameters);
}

std::string recording_text(const json& recording, const TextStyle& style) {
  std::string out = bold(short_id(recording["run_id"]), style);
  if (recording.contains("workload")) {
    const json& workload = recording["workload"];
    out += fmt::format("  {} ran {}, exit code {}\n  {}  {} user, {} system; {} at most\n",
                       base_name(workload["command"][0].get<std::string>()),
                       duration_text(workload["wall_ns"]), workload["exit_code"].get<int>(),
                       dim("CPU     ", style), duration_text(workload["user_ns"]),
                       duration_text(workload["system_ns"]), bytes_text(workload["peak_memory_bytes"]));
  } else {
    out += "\n";
  }
  return out + fmt::format("  {}  {}\n", dim("markers ", style), tally_text(recording["markers"])) +
         samples_text(recording["samples"], style);
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  if (!outcome.data.contains("runs")) return recording_text(outcome.data, style);
  std::string out;
  for (const json& recording : outcome.data["runs"]) out += recording_text(recording, style);
  return out.empty() ? "nothing to recover\n" : out;
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "record",
      .summary = "Record a program while it runs: markers, stack samples, output, GPU activity",
      .use_when =
          "you want to capture, trace, watch, monitor or sample a command, process, server, application or "
          "script that you start now",
      .not_when = "it is an ONNX model: profile",
      .example = R"({"command": ["python", "serve.py"]})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kExec,
      .reach = {.cli = true, .http = false, .mcp = true},
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::record_operation
