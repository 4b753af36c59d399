#include <fmt/core.h>
#include <sys/stat.h>

#include "base/files.h"
#include "ops/demo_files.inc"
#include "ops/door.h"
#include "ops/runs/run_names.h"
#include "ops/text/text.h"
#include "store/run_document.h"

namespace nl::ops::demo_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false,
  "properties": {
    "output": {"type": "string", "x-short": "o", "x-host-path": true, "default": "neurolens-demo",
               "description": "folder for the simulated traces, their ledger and the pages; created if it does not exist"}
  }})";

constexpr char kResult[] = R"({
  "type": "object",
  "required": ["simulated", "folder", "ledger", "traces", "runs", "verdict", "delta_ns", "pages", "commands"],
  "properties": {
    "simulated": {"const": true},
    "folder": {"type": "string"}, "ledger": {"type": "string"},
    "traces": {"type": "object", "required": ["before", "after"]},
    "runs": {"type": "object", "required": ["before", "after"], "description": "run ids, in the order of the traces"},
    "verdict": {"type": "string", "description": "of compare"},
    "delta_ns": {"type": "integer", "description": "of one step"},
    "pages": {"type": "array", "items": {"type": "string"}},
    "commands": {"type": "array", "items": {"type": "string"}, "description": "commands that give the same when you type them"}
  }})";

constexpr char kMarkName[] = "SIMULATED.txt";
constexpr char kMark[] =
    "SIMULATED by neurolens demo. No hardware was measured.\n"
    "\n"
    "before/  five runs of a made-up LLM server that decodes on one GPU\n"
    "after/   five runs after a change: requests fetched ahead, fused kernels, one CUDA graph a step\n"
    "ledger/  what neurolens keeps of them\n"
    "*.html   pages made from them\n"
    "\n"
    "neurolens demo writes these files again; remove the folder when you are done.\n";

// ---- The folder

Error not_ours(const std::string& folder) {
  return Error{ErrorCode::kConflict,
               "this exists already and was not made by neurolens demo, so it is not changed: " + folder,
               "name another folder: {}",
               {suggested("demo", {{"output", "DIR"}})}};
}

/// New, empty, or made by an earlier demo.
Result<void> check_folder(const std::string& folder) {
  struct stat info {};
  if (::lstat(folder.c_str(), &info) != 0) return {};
  if (::stat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return not_ours(folder);
  if (list_folder(folder).empty()) return {};
  const auto mark = read_small_file(folder + "/" + kMarkName, 4096);
  const std::string_view first_line = std::string_view(kMark).substr(0, std::string_view(kMark).find('\n'));
  if (!mark || !mark->starts_with(first_line)) return not_ours(folder);
  return {};
}

/// Without a slash behind it; what starts like an option gets a folder before it.
Result<std::string> folder_of(const json& parameters) {
  std::string folder = parameters["output"];
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  if (folder.empty()) return Error{ErrorCode::kBadInput, "the name of the folder is empty", "--output DIR"};
  return folder[0] == '-' ? "./" + folder : folder;
}

Result<void> write_files(const std::string& folder) {
  NL_CHECK(make_folders(folder + "/before"));
  NL_CHECK(make_folders(folder + "/after"));
  NL_CHECK(replace_file(folder + "/" + kMarkName, kMark));
  for (const EmbeddedFile& file : kDemoFiles) {
    NL_CHECK(replace_file(folder + "/" + std::string(file.name), file.text));
  }
  return {};
}

json traces_of(const std::string& folder, const std::string& side) {
  json paths = json::array();
  for (const EmbeddedFile& file : kDemoFiles) {
    if (file.name.starts_with(side + "/") && file.name.ends_with(".json.gz"))
      paths.push_back(folder + "/" + std::string(file.name));
  }
  return paths;
}

// ---- The steps: operations as a person would call them

struct Step {
  const char* title;
  const char* operation;
  json parameters;
  std::string command;
  const char* reading;  ///< how to read what it shows
};

/// What the text shows of each step besides `data`.
struct DoneStep {
  Step step;
  Outcome outcome;
};

std::vector<Step> steps_of(const std::string& folder, const json& traces) {
  const std::string dir = shell_word(folder), ledger = " --ledger " + dir + "/ledger";
  const std::string before = dir + "/before/*.json.gz", after = dir + "/after/*.json.gz";
  const json &base = traces["before"], &next = traces["after"];
  const std::string one = base[0], one_word = shell_word(one);
  json all = base;
  all.insert(all.end(), next.begin(), next.end());
  return {
      {"Each trace becomes a run of the ledger",
       "import",
       {{"paths", all}},
       "neurolens import " + before + " " + after + ledger,
       ""},
      {"Where does the time of one run before the change go?",
       "analyze",
       {{"run", one}, {"top", 5}},
       "neurolens analyze " + one_word + " --top 5" + ledger,
       "The parts of the window add up to it, to the nanosecond. The findings say what to try first: here "
       "the "
       "device mostly waits, for launches and for data."},
      {"What did the change gain, and is the gain real?",
       "compare",
       {{"base", base}, {"new", next}, {"top", 8}, {"html", folder + "/compare.html"}},
       "neurolens compare --base " + before + " --new " + after + " --top 8 --html " + dir + "/compare.html" +
           ledger,
       "The verdict is tested over the runs of both sides. The parts add up to the difference, so that a "
       "loss "
       "cannot hide behind a gain: attention got slower."},
      {"A page of the run to share",
       "report",
       {{"run", one}, {"format", "html"}, {"output", folder}},
       "neurolens report " + one_word + " --format html --output " + dir + ledger,
       ""},
  };
}

json ids_of(const json& runs, size_t from, size_t count) {
  json ids = json::array();
  for (size_t i = from; i < from + count; i++) ids.push_back(runs[i]["run_id"]);
  return ids;
}

void keep_result(const std::string& operation, const json& result, json& data) {
  if (operation == "import") {
    const size_t before = data["traces"]["before"].size(), after = data["traces"]["after"].size();
    data["runs"] = {{"before", ids_of(result["runs"], 0, before)},
                    {"after", ids_of(result["runs"], before, after)}};
  }
  if (operation == "compare") {
    for (const char* key : {"verdict", "delta_ns"}) data[key] = result.value(key, json());
  }
}

Result<Outcome> run_step(Context& context, const Step& step) {
  NL_TRY(auto outcome, call(step.operation, step.parameters, context));
  if (outcome.exit_code == 0) return outcome;
  return Error{ErrorCode::kInternal, fmt::format("{} of the demo failed", step.operation),
               "run it by hand: " + step.command};
}

Result<Outcome> run(Context& context, const json& parameters) {
  NL_TRY(const std::string folder, folder_of(parameters));
  NL_CHECK(check_folder(folder));
  if (auto written = write_files(folder); !written) {
    written.error().hint = "name a folder that can be written: {}";
    written.error().calls = {suggested("demo", {{"output", "DIR"}})};
    return std::move(written.error());
  }
  Context own = context;
  own.ledger_folder = folder + "/ledger";
  Outcome outcome;
  outcome.data = {
      {"simulated", true},
      {"folder", folder},
      {"ledger", own.ledger_folder},
      {"traces", {{"before", traces_of(folder, "before")}, {"after", traces_of(folder, "after")}}},
      {"pages", {folder + "/report.html", folder + "/compare.html"}},
      {"commands", json::array()}};
  std::vector<DoneStep> steps;
  for (const Step& step : steps_of(folder, outcome.data["traces"])) {
    NL_TRY(auto done, run_step(own, step));
    keep_result(step.operation, done.data, outcome.data);
    outcome.data["commands"].push_back(step.command);
    steps.push_back({step, std::move(done)});
  }
  outcome.answer = std::move(steps);
  outcome.next = {suggested("view", {{"runs", json::array({folder + "/compare.html"})}}),
                  suggested("show", {{"run", "YOUR_TRACE.json.gz"}}),
                  suggested("compare", {{"runs", {"BEFORE.json.gz", "AFTER.json.gz"}}})};
  return outcome;
}

// ---- Text

std::string imported_text(const json& data) {
  int64_t records = 0, dropped = 0;
  for (const json& run : data["runs"]) {
    records += run["counts"]["seen"].get<int64_t>();
    dropped += store::sum_of_counts(run["counts"]["dropped"]);
  }
  return fmt::format("{} runs of {} records, {} dropped\n", data["runs"].size(), grouped(records),
                     grouped(dropped));
}

std::string step_text(const DoneStep& done, size_t number, const TextStyle& style) {
  const Step& step = done.step;
  const std::string operation = step.operation, reading = step.reading;
  std::string out =
      "\n" + bold(fmt::format("{}. {}", number, step.title), style) + "\n$ " + step.command + "\n";
  out += operation == "import" ? imported_text(done.outcome.data)
                               : find_operation(operation)->text(done.outcome, style);
  return reading.empty() ? out : out + "\n" + wrapped(reading, "> ", style.width);
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  std::string out = bold("SIMULATED data", style) + ": an LLM server that decodes on one GPU, five runs " +
                    "before and five after a change.\nNo hardware was measured. Everything is in " +
                    outcome.data["folder"].get<std::string>() + "\n";
  const auto& steps = answer_of<std::vector<DoneStep>>(outcome);
  for (size_t i = 0; i < steps.size(); i++) out += step_text(steps[i], i + 1, style);
  return out;
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "demo",
      .summary = "Show what neurolens can tell, on simulated traces that come with it",
      .use_when =
          "you have no trace at hand and want to see an analysis and a comparison; it needs no network and "
          "no "
          "GPU",
      .not_when = "you have a trace: neurolens FILE",
      .example = R"({})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kWrite,
      .reach = {.cli = true},
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::demo_operation
