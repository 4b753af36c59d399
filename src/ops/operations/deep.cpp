#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "base/files.h"
#include "base/process.h"
#include "base/redact.h"
#include "capture/document.h"
#include "capture/run/host.h"
#include "capture/tools/tool_presets.h"
#include "ops/capture/deep_passes.h"
#include "ops/capture/deep_sides.h"
#include "ops/capture/determinism.h"
#include "ops/capture/nsight_tools.h"
#include "ops/capture/rocprofv3_tools.h"
#include "ops/import/import_file.h"
#include "ops/runs/run_labels.h"
#include "ops/runs/run_names.h"
#include "ops/runs/run_report.h"
#include "ops/text/text.h"
#include "report/report_md.h"
#include "report/table.h"
#include "wire/clock_pair.h"

namespace nl::ops::deep_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"json({
  "type": "object", "additionalProperties": false, "required": ["workload"],
  "properties": {
    "workload": {"type": "array", "items": {"type": "string"}, "x-positional": 1, "x-host-path": true, "x-behind-dashes": true,
                 "description": "the command to run, after --; or a workload file (.yaml) and key=value for its values; or compare and two of these"},
    "tool": {"x-rare": true, "type": "string", "enum": ["auto", "nsight", "rocprofv3"], "default": "auto",
             "description": "whose tools: NVIDIA's, AMD's, or those that are installed"},
    "mode": {"x-rare": true, "type": "string", "enum": ["light", "deep"], "x-own-default": "deep",
             "description": "light: without counters; a workload file may say it, too"},
    "iterations": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 1000000000,
                   "description": "how often the program does its work: its NEUROLENS_ITERATIONS, and {iterations} in a workload file"},
    "warm_up": {"x-rare": true, "type": "integer", "minimum": 0, "maximum": 1000000000,
                "description": "how often before that: NEUROLENS_WARM_UP, and {warm_up}"},
    "nsys": {"x-rare": true, "type": "string", "x-own-default": "gpu", "description": "what Nsight Systems records: gpu, host, libraries or ranges"},
    "ncu": {"x-rare": true, "type": "string", "x-own-default": "roofline",
            "description": "what Nsight Compute counts: roofline, minimal (the fewest replays), memory, occupancy or full"},
    "metric": {"x-rare": true, "type": "array", "items": {"type": "string"},
               "description": "counter for Nsight Compute besides those of its preset; may be repeated"},
    "range": {"x-rare": true, "type": "string",
              "description": "only this NVTX range is profiled, DOMAIN@RANGE or RANGE (default: that of the workload file); not with rocprofv3"},
    "trace": {"x-rare": true, "type": "string", "description": "the --trace of Nsight Systems, instead of that of its preset"},
    "repeats": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 100, "default": 3,
                "description": "runs without any tool"},
    "top": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 100, "x-own-default": 5,
            "description": "kernels to replay for their counters, the longest first"},
    "kernel": {"x-rare": true, "type": "array", "items": {"type": "string"},
               "description": "replay this kernel, by the name of its function, instead of the longest; may be repeated"},
    "launches": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 100000, "default": 20,
                 "description": "launches of these kernels to replay, from the middle of the run; rocprofv3 counts all of them"},
    "counter": {"x-rare": true, "type": "array", "items": {"type": "string"},
                "description": "counter for rocprofv3; may be repeated (default: SQ_WAVES, GRBM_GUI_ACTIVE, FETCH_SIZE)"},
    "time_limit": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 604800, "default": 3600,
                   "description": "seconds after which a pass is stopped"},
    "silence_limit": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 604800, "default": 600,
                      "description": "seconds without output or growing files after which a pass is stopped"},
    "max_slowdown": {"x-rare": true, "type": "integer", "minimum": 2, "maximum": 1000000, "default": 100,
                     "description": "a pass is stopped when it takes this many times as long as without a tool, plus a minute"},
    "max_mb": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 1000000, "default": 2048,
               "description": "a pass is stopped when its files grow larger than this"},
    "phase": {"x-rare": true, "type": "array", "items": {"type": "string"},
              "description": "name of the ranges of an LLM phase for the reports, e.g. prefill=LLM@prefill"},
    "set": {"x-rare": true, "type": "array", "items": {"type": "string"},
            "description": "label=value for the run, such as variant=quantised; may be repeated"},
    "html": {"x-rare": true, "type": "string", "x-host-path": true,
             "description": "write the page of a comparison to this file, too"}
  }})json";

constexpr char kResult[] = R"json({
  "type": "object", "required": ["run_id", "passes", "replays", "determinism", "artifacts", "reports"],
  "properties": {
    "run_id": {"type": "string"},
    "passes": {"type": "array",
               "description": "each with status (done, nothing_profiled, cut_short, failed, forbidden, not_run), times of the workload and their ratios to those without a tool",
               "items": {"type": "object", "required": ["pass", "status"]}},
    "replays": {"type": ["object", "null"], "description": "kernels that were replayed or left out, and which launches"},
    "determinism": {"type": "array",
                    "description": "whether the workload does the same each time: output, python_hash_seed, seeds, torch_algorithms, cudnn, cublas_workspace, clocks, each with status (fixed, open, allowed with a reason, absent with a reason)",
                    "items": {"type": "object", "required": ["check", "status"]}},
    "artifacts": {"type": "string", "description": "folder with a folder for each pass, capture.json and the reports"},
    "reports": {"type": "array", "items": {"type": "string"}},
    "base": {"type": "object", "description": "the same of the base, of a comparison"},
    "comparison": {"type": "object", "description": "the answer of compare"},
    "page": {"type": "string", "description": "the comparison as a page"}}})json";

// ---- What is wanted

/// A file with its overrides, or a command.
Result<Workload> workload_in(const Environment& surroundings, const std::vector<std::string>& words,
                             const std::vector<std::string>& turns) {
  if (words.empty())
    return Error{ErrorCode::kBadInput,
                 "no workload",
                 "{}, or a workload.yaml",
                 {suggested("deep", {{"workload", json::array({"COMMAND"})}})}};
  if (names_workload_file(words[0]))
    return read_workload(surroundings, words[0], {words.begin() + 1, words.end()}, turns);
  Workload workload;
  workload.command = words;
  for (const std::string& turn : turns) {
    const size_t equals = turn.find('=');
    workload.values[turn.substr(0, equals)] = turn.substr(equals + 1);
  }
  return workload;
}

/// What the command line says counts before what the file says.
Result<Workload> workload_of(const Environment& surroundings, const std::vector<std::string>& words,
                             const json& parameters) {
  std::vector<std::string> turns;
  for (const char* key : {"iterations", "warm_up"}) {
    if (parameters.contains(key)) turns.push_back(fmt::format("{}={}", key, parameters[key].dump()));
  }
  NL_TRY(Workload workload, workload_in(surroundings, words, turns));
  NL_CHECK(pass_turns_on(workload));
  NL_CHECK(check_allowed(workload));
  workload.mode = parameters.value("mode", workload.mode);
  if (parameters.contains("top")) workload.top = parameters["top"].get<int64_t>();
  workload.nsys = parameters.value("nsys", workload.nsys);
  workload.ncu = parameters.value("ncu", workload.ncu);
  for (const std::string& name : parameters.value("metric", std::vector<std::string>())) {
    if (!capture::is_counter_name(name))
      return Error{ErrorCode::kBadInput, "not the name of a counter: " + name.substr(0, 64)};
    workload.metrics.push_back(name);
  }
  if (parameters.contains("range")) {
    NL_TRY(workload.range, capture::parse_nvtx_range(parameters["range"].get<std::string>()));
  }
  if (parameters.contains("phase")) workload.phases = parameters["phase"].get<std::vector<std::string>>();
  return workload;
}

/// What is installed; if both are, NVIDIA's, unless all there is is a GPU of AMD.
std::string chosen_tool(const Environment& surroundings, const std::string& wanted) {
  if (wanted != "auto") return wanted;
  const bool has_nsys = !find_program(surroundings, "nsys", "NEUROLENS_NSYS").empty();
  const bool has_rocprofv3 = !find_program(surroundings, "rocprofv3", "NEUROLENS_ROCPROFV3").empty();
  const bool only_amd = path_exists("/dev/kfd") && !path_exists("/proc/driver/nvidia");
  return has_rocprofv3 && (!has_nsys || only_amd) ? "rocprofv3" : "nsight";
}

Result<DeepTools> tools_of(const Environment& surroundings, const json& parameters,
                           const Workload& workload) {
  const bool counters = workload.mode != "light";
  if (chosen_tool(surroundings, parameters["tool"]) == "nsight") {
    NsightOptions options;
    options.counters = counters;
    NL_TRY(const auto nsys, capture::find_nsys_preset(workload.nsys));
    options.trace = parameters.value("trace", nsys.trace);
    NL_TRY(options.preset, capture::find_ncu_preset(workload.ncu));
    for (const std::string& metric : workload.metrics) options.preset.metrics.push_back(metric);
    options.range = workload.range;
    return nsight_tools(surroundings, options);
  }
  if (workload.range)
    return Error{ErrorCode::kUnsupported, "rocprofv3 cannot record only one range",
                 "leave the range out: all ranges are recorded, and analyze --window shows one"};
  const std::vector<std::string> usual = {"SQ_WAVES", "GRBM_GUI_ACTIVE", "FETCH_SIZE"};
  return rocprofv3_tools(surroundings,
                         counters ? parameters.value("counter", usual) : std::vector<std::string>());
}

Result<DeepPlan> plan_of(const Environment& surroundings, const std::vector<std::string>& words,
                         const json& parameters) {
  DeepPlan plan;
  NL_TRY(plan.workload, workload_of(surroundings, words, parameters));
  NL_TRY(plan.tools, tools_of(surroundings, parameters, plan.workload));
  plan.repeats = parameters["repeats"];
  plan.top = static_cast<size_t>(plan.workload.top.value_or(5));
  plan.functions = parameters.value("kernel", plan.functions);
  plan.launches = parameters["launches"];
  plan.max_slowdown = parameters["max_slowdown"];
  plan.budget.time = std::chrono::seconds(parameters["time_limit"].get<int64_t>());
  plan.budget.silence = std::chrono::seconds(parameters["silence_limit"].get<int64_t>());
  plan.budget.bytes = parameters["max_mb"].get<int64_t>() << 20;
  return plan;
}

// ---- What was done

/// Exports of Nsight Systems have the environment of the workload in them.
Result<std::string> private_folder(std::string folder) {
  NL_CHECK(make_folders(folder));
  if (::chmod(folder.c_str(), 0700) != 0) return errno_error("cannot protect", folder, errno);
  return folder;
}

Result<json> inputs_json(const std::vector<std::string>& paths) {
  json inputs = json::array();
  for (const std::string& path : paths) {
    NL_TRY(json input, capture::file_json(path));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

Result<json> workload_facts(const Workload& workload) {
  json facts = {{"command", workload.command}, {"values", workload.values}, {"phases", workload.phases}};
  if (workload.range) facts["range"] = {{"domain", workload.range->domain}, {"name", workload.range->name}};
  NL_TRY(facts["inputs"], inputs_json(workload.inputs));
  return facts;
}

/// Before the passes, so that a missing input costs nothing.
Result<json> describe(const Context& context, const Workload& workload) {
  const std::string folder = workload.folder.empty() ? context.environment->folder() : workload.folder;
  json document = capture::describe_capture(*context.environment, context.command, folder);
  auto variables = context.environment->variables();
  variables.insert(variables.end(), workload.environment.begin(), workload.environment.end());
  document["environment"] = capture::describe_environment(variables);
  document["labels"] = workload.labels;
  document["clock"] = capture::clock_pair_json(wire::read_clock_pair());
  NL_TRY(document["workload"], workload_facts(workload));
  return document;
}

/// The program may read any of its variables: those of the workload count before ours.
json determinism_of(const Context& context, const DeepPlan& plan, const DeepPasses& passes,
                    const json& document) {
  DeterminismFacts facts;
  facts.variables = context.environment->variables();
  const auto& own = plan.workload.environment;
  facts.variables.insert(facts.variables.end(), own.begin(), own.end());
  facts.gpus = document["gpus"];
  facts.passes = passes.folders;
  facts.repeats = {passes.folders.begin(), passes.folders.begin() + plan.repeats};
  return check_determinism(plan.workload, facts);
}

// ---- What comes of it

std::string ratio_text(const json& pass, const char* key) {
  return pass.contains(key) && pass[key].is_number() ? fmt::format("{:.2f}", pass[key].get<double>()) : "-";
}

std::string time_of(const json& pass, const char* key) {
  return pass.contains(key) ? duration_text(pass[key]) : "-";
}

/// For the end of the summary: what the figures rest on.
std::string passes_section(const json& passes) {
  report::Table table;
  table.columns = {"Pass",    "Wall time", "CPU time", "Wall, times unprofiled", "CPU, times unprofiled",
                   "Came out"};
  for (const json& pass : passes) {
    table.rows.push_back({report::words(pass["pass"]), report::number(time_of(pass, "wall_ns")),
                          report::number(time_of(pass, "cpu_ns")),
                          report::number(ratio_text(pass, "wall_ratio")),
                          report::number(ratio_text(pass, "cpu_ratio")),
                          report::name(pass.value("reason", pass.value("status", "")))});
  }
  return "\n## Passes\n\nTimes of the workload itself, without those of the tools. Kernel times come from "
         "the traced pass. Counters come from another pass, whose times are not used.\n\n" +
         table.markdown();
}

/// Written into the artefacts of the run; their names.
Result<std::vector<std::string>> write_reports(Context& context, const NamedRun& run,
                                               const std::vector<std::string>& phases, const json& passes) {
  json options = {{"window", "steady"}, {"top", 10}};
  if (!phases.empty()) options["phase"] = phases;
  NL_TRY(const auto report, make_run_report(context, run, options));
  std::vector<std::string> names;
  for (auto& [name, text] : report::markdown_documents(report)) {
    if (name == "stakeholder_summary.md") text += passes_section(passes);
    NL_CHECK(replace_file(run.bundle + "/artifacts/" + name, text));
    names.push_back(name);
  }
  return names;
}

Result<Outcome> outcome_of(Context& context, const NamedRun& run, const DeepPlan& plan, DeepPasses passes,
                           json determinism) {
  Outcome outcome;
  outcome.warnings = std::move(passes.warnings);
  auto reports = write_reports(context, run, plan.workload.phases, passes.passes);
  if (!reports) outcome.warnings.push_back("there are no reports: " + reports.error().message);
  outcome.data = {{"run_id", run.run_id},
                  {"passes", std::move(passes.passes)},
                  {"replays", std::move(passes.replays)},
                  {"determinism", std::move(determinism)},
                  {"artifacts", run.bundle + "/artifacts"},
                  {"reports", reports ? json(*reports) : json::array()}};
  outcome.shown = {{"command", without_secrets(plan.workload.command)}};
  outcome.next = {suggested("analyze", {{"run", short_id(run.run_id)}}),
                  suggested("view", {{"runs", json::array({short_id(run.run_id)})}})};
  return outcome;
}

Result<Outcome> run_plan(Context& context, const DeepPlan& plan, const json& parameters) {
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  NL_TRY(const auto given, given_labels({}, parameters.value("set", std::vector<std::string>())));
  NL_TRY(json document, describe(context, plan.workload));
  NL_TRY(const store::Staging staging, ledger.new_staging());
  NL_TRY(const std::string folder, private_folder(staging.temp() + "/artifacts"));
  NL_TRY(DeepPasses passes, run_deep_passes(context, plan, folder, staging.temp() + "/scratch"));
  document["iterations"] = passes.iterations;
  document["passes"] = passes.passes;
  document["replays"] = passes.replays;
  const json determinism = determinism_of(context, plan, passes, document);
  document["determinism"] = determinism;
  NL_CHECK(write_file_durably(folder + "/capture.json", capture::document_text(document)));
  passes.sources.push_back(folder + "/capture.json");
  ImportOptions options;
  options.as_one = true;
  options.artifacts = folder;
  NL_TRY(const auto report, import_files(context, ledger, passes.sources, options));
  NL_TRY(auto outcome, outcome_of(context, {report.run_id, ledger.run_folder(report.run_id)}, plan,
                                  std::move(passes), determinism));
  NL_CHECK(apply_labels(context, ledger, report.run_id, given, outcome.warnings));
  return outcome;
}

// ---- Two workloads

/// The answer of the operation `compare`, and its page.
Result<Outcome> compare_runs(Context& context, const std::string& base, const std::string& next,
                             std::string& page) {
  Context inner = context;
  inner.bytes = [&page](std::string_view bytes) -> Result<void> {
    page += bytes;
    return {};
  };
  const json parameters = {{"runs", {base, next}}, {"page", "html"}};
  return find_operation("compare")->run(inner, parameters);
}

Result<Outcome> compare_two(Context& context, const std::vector<std::string>& words, const json& parameters) {
  NL_TRY(const DeepSides sides, deep_sides(words));
  NL_TRY(const DeepPlan base_plan, plan_of(*context.environment, sides.first, parameters));
  NL_TRY(const DeepPlan plan, plan_of(*context.environment, sides.second, parameters));
  NL_TRY(Outcome base, run_plan(context, base_plan, parameters));
  NL_TRY(Outcome outcome, run_plan(context, plan, parameters));
  std::string page;
  NL_TRY(Outcome compared, compare_runs(context, base.data["run_id"], outcome.data["run_id"], page));
  const std::string path = outcome.data["artifacts"].get<std::string>() + "/comparison.html";
  NL_CHECK(replace_file(path, page));
  if (parameters.contains("html")) NL_CHECK(context.page_files.write(parameters["html"], page));
  outcome.data["page"] = parameters.value("html", path);
  outcome.data["base"] = std::move(base.data);
  outcome.data["comparison"] = compared.data;
  outcome.warnings.insert(outcome.warnings.begin(), base.warnings.begin(), base.warnings.end());
  outcome.warnings.insert(outcome.warnings.end(), compared.warnings.begin(), compared.warnings.end());
  outcome.shown["base_command"] = base.shown["command"];
  outcome.answer = std::move(compared.answer);
  outcome.next = std::move(compared.next);
  return outcome;
}

Result<Outcome> run(Context& context, const json& parameters) {
  const auto words = parameters["workload"].get<std::vector<std::string>>();
  if (asks_for_comparison(words)) return compare_two(context, words, parameters);
  if (parameters.contains("html"))
    return Error{ErrorCode::kBadInput, "only a comparison has a page", "deep compare BASE.yaml NEW.yaml"};
  NL_TRY(const DeepPlan plan, plan_of(*context.environment, words, parameters));
  return run_plan(context, plan, parameters);
}

// ---- What people see

std::string pass_text(const json& pass) {
  std::string text = pass.contains("wall_ns") ? fmt::format("{}, CPU {}", duration_text(pass["wall_ns"]),
                                                            duration_text(pass["cpu_ns"]))
                                              : "";
  if (pass.contains("runs")) text += ", " + counted(pass["runs"], "run");
  if (pass.contains("wall_ratio"))
    text += fmt::format("; {} times as long, {} times the CPU time", ratio_text(pass, "wall_ratio"),
                        ratio_text(pass, "cpu_ratio"));
  if (pass.contains("reason")) text += (text.empty() ? "" : "; ") + pass["reason"].get<std::string>();
  return text;
}

std::string replays_text(const json& replays) {
  std::vector<std::string> names;
  for (const json& kernel : replays["kernels"])
    names.push_back(shortened(kernel["function"].get<std::string>(), 40));
  if (replays["launch_count"].is_null()) return fmt::format("{}; all launches", fmt::join(names, ", "));
  return fmt::format("{}; {} behind the first {}", fmt::join(names, ", "),
                     counted(replays["launch_count"], "launch", "launches"),
                     grouped(replays["launch_skip"].get<int64_t>()));
}

/// The checks that came out so, with reasons where somebody has to act or has agreed.
std::string checks_with(const json& checks, const char* status) {
  std::vector<std::string> texts;
  for (const json& check : checks) {
    if (check["status"] != status) continue;
    const bool is_plain = std::string_view(status) == "fixed";
    texts.push_back(is_plain ? check["check"].get<std::string>()
                             : fmt::format("{} ({})", check["check"].get<std::string>(),
                                           check.value("reason", std::string())));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string determinism_text(const json& checks, const TextStyle& style) {
  std::string out;
  for (const char* status : {"fixed", "open", "allowed"}) {
    const std::string those = checks_with(checks, status);
    if (!those.empty())
      out += fmt::format("  {}  {}\n", dim(fmt::format("{:<10}", status), style), shortened(those, 300));
  }
  return out;
}

std::string side_text(const json& data, const json& shown_command, const TextStyle& style) {
  const auto command = shown_command.get<std::vector<std::string>>();
  std::string out = fmt::format("{}  {}\n", bold(short_id(data["run_id"]), style),
                                shortened(fmt::format("{}", fmt::join(command, " ")), 80));
  for (const json& pass : data["passes"])
    out += fmt::format("  {}  {}\n", dim(fmt::format("{:<10}", pass["pass"].get<std::string>()), style),
                       shortened(pass_text(pass), 200));
  if (data["replays"].is_object() && !data["replays"]["kernels"].empty())
    out += fmt::format("  {}  {}\n", dim("chosen    ", style), replays_text(data["replays"]));
  out += determinism_text(data["determinism"], style);
  return out + fmt::format("  {}  {}\n", dim("artifacts ", style), data["artifacts"].get<std::string>());
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  const std::string side = side_text(outcome.data, outcome.shown["command"], style);
  if (!outcome.data.contains("base")) return side;
  return side_text(outcome.data["base"], outcome.shown["base_command"], style) + side + "\n" +
         find_operation("compare")->text(outcome, style) +
         fmt::format("\n  {}  {}\n", dim("page      ", style), outcome.data["page"].get<std::string>());
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "deep",
      .summary =
          "Run a GPU workload plain, traced and with hardware counters of its longest kernels (Nsight, "
          "rocprofv3), as one run",
      .use_when = "you need to collect occupancy, stalls, cache and DRAM counters of kernels",
      .not_when = "there is no GPU: profile",
      .example = R"({"top": 3, "workload": ["python3", "generate.py", "--batch", "8"]})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kExec,
      .reach = {.cli = true, .http = false, .mcp = true},
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::deep_operation
