#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/files.h"
#include "compare/comparison.h"
#include "ops/gate/compare_gate.h"
#include "ops/gate/expectations.h"
#include "ops/gate/share.h"
#include "ops/runs/analysis_options.h"
#include "ops/runs/run_labels.h"
#include "ops/runs/run_names.h"
#include "ops/screen/compare_text.h"
#include "ops/text/text.h"
#include "report/compare_html.h"
#include "report/compare_junit.h"
#include "report/compare_md.h"
#include "store/run_document.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false,
  "properties": {
    "runs": {"type": "array", "items": {"type": "string"}, "x-positional": 1, "x-run": true,
             "description": "two runs, the base first: run id, tag, @latest, @baseline:NAME, bundle folder or profile"},
    "base": {"type": "array", "items": {"type": "string"}, "x-many": true, "description": "runs of the base, instead of the first of two"},
    "new": {"type": "array", "items": {"type": "string"}, "x-many": true, "description": "runs to hold against the base"},
    "window": {"type": "string", "default": "auto",
               "description": "auto (the steps if both sides mark some, else whole), steps, whole, step:N, a phase, or the name of an annotation"},
    "keep_warm_up": {"type": "boolean", "description": "count the first steps too, where a change point says that they are a warm-up"},
    "top": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 15, "description": "rows of changes"},
    "threshold": {"type": "string", "default": "1%", "description": "differences below it do not matter"},
    "gate": {"type": "boolean", "description": "exit 1 unless the comparison shows that there is no regression"},
    "allow_untested": {"type": "string", "description": "let one run a side pass the gate up to this increase, e.g. 5%"},
    "expect": {"type": "string", "x-host-path": true, "x-file": true,
               "description": "YAML file with what is expected: base, window, threshold, limits; the gate holds them"},
    "allow_inconclusive": {"type": "boolean", "description": "let an inconclusive comparison pass the gate"},
    "phase": {"type": "array", "items": {"type": "string"},
              "description": "name of the ranges of an LLM phase, e.g. prefill=LLM@prefill; also decode=, decode_step="},
    "peaks": {"type": "string", "x-host-path": true, "description": "YAML file with device peaks of your own"},
    "html": {"type": "string", "x-file": true, "x-host-path": true, "description": "write the comparison as one HTML page to this file"},
    "markdown": {"type": "string", "x-file": true, "x-host-path": true, "description": "write a comment for a pull request to this file"},
    "junit": {"type": "string", "x-file": true, "x-host-path": true, "description": "write JUnit XML for a CI system to this file"}
  }})";

constexpr char kResult[] = R"({
  "type": "object",
  "required": ["verdict", "reasons", "mode", "comparability", "base", "new", "delta_ns", "unit", "parts", "changes",
               "not_shown", "ops", "modules", "devices", "totals", "statistics", "differences", "across", "expectations"],
  "properties": {
    "verdict": {"enum": ["regression", "improvement", "no_change", "inconclusive", "not_tested", "incomparable"]},
    "mode": {"enum": ["same", "other_hardware", "other_backend"]},
    "comparability": {"type": "object", "required": ["score", "floor", "factors"]},
    "delta_ns": {"type": "integer", "description": "of one unit of the window; the sum over parts is equal"},
    "parts": {"type": "array", "items": {"type": "object", "required": ["kind", "name", "base_ns", "new_ns", "delta_ns"]}},
    "changes": {"type": "array", "items": {"type": "object",
      "required": ["kind", "name", "base", "new", "delta_ns", "match_confidence", "metrics"]}},
    "gate": {"type": "object", "required": ["passed", "reason"]},
    "files": {"type": "array", "description": "written reports", "items": {"type": "object", "required": ["format", "name", "bytes"]}}
  }})";

Result<compare::RunInput> input_of(Context& context, store::Ledger& ledger, const std::string& name) {
  NL_TRY(const auto named, resolve_run(context, ledger, name));
  compare::RunInput input{named.bundle, {named.run_id, {}, {}}};
  NL_TRY(const auto document, store::shared_run_document(named.bundle + "/run.json"));
  input.facts.document = *document;
  NL_TRY(const auto labels, ledger.labels(named.run_id, input.facts.document));
  input.facts.labels = store::counting_values(labels);
  return input;
}

Result<std::vector<compare::RunInput>> inputs_of(Context& context, store::Ledger& ledger,
                                                 const std::vector<std::string>& names) {
  std::vector<compare::RunInput> inputs;
  for (const std::string& name : names) {
    NL_TRY(auto input, input_of(context, ledger, name));
    for (const auto& other : inputs) {
      if (other.facts.run_id == input.facts.run_id)
        return Error{ErrorCode::kBadInput, "a run is named twice on one side: " + name,
                     "a repeat is a run of its own"};
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

using TwoSides = std::pair<std::vector<std::string>, std::vector<std::string>>;

Result<TwoSides> sides_of(const json& parameters, const Expectations& expected) {
  auto runs = parameters.value("runs", std::vector<std::string>());
  if (runs.size() == 1 && expected.options.contains("base"))
    runs.insert(runs.begin(), expected.options.at("base"));
  TwoSides sides{parameters.value("base", std::vector<std::string>()),
                 parameters.value("new", std::vector<std::string>())};
  if (runs.size() == 2 && sides.first.empty() && sides.second.empty()) return TwoSides{{runs[0]}, {runs[1]}};
  if (runs.empty() && !sides.first.empty() && !sides.second.empty()) return sides;
  return Error{ErrorCode::kBadInput, "a comparison takes two runs, or some with --base and some with --new",
               "neurolens compare BASE NEW, or --base RUN... --new RUN..."};
}

Result<GateOptions> gate_options(const json& parameters) {
  GateOptions options;
  options.allow_inconclusive = parameters.value("allow_inconclusive", false);
  if (parameters.contains("allow_untested")) {
    NL_TRY(options.allow_untested, parse_share("--allow-untested", parameters["allow_untested"]));
  }
  return options;
}

Result<compare::CompareOptions> compare_options(Context& context, const json& parameters) {
  compare::CompareOptions options;
  json shared = parameters;
  shared.erase("window");
  NL_TRY(options.analysis, analysis_options(context, shared));
  options.window = parameters.value("window", "auto");
  options.keep_warm_up = parameters.value("keep_warm_up", false);
  options.with_figures = parameters.contains("html");
  NL_TRY(options.practical_bound, parse_share("--threshold", parameters.value("threshold", "1%")));
  options.progress = [&context](double fraction) { context.progress({"comparing", fraction}); };
  return options;
}

Result<Expectations> expectations_of(Context& context, const json& parameters) {
  if (!parameters.contains("expect")) return Expectations{};
  NL_CHECK(may_name_files(context));
  return read_expectations(parameters["expect"]);
}

/// What the command line leaves open, the file says.
json with_expected_options(json parameters, const Expectations& expected) {
  for (const auto& [key, value] : expected.options) {
    if (key != "base" && !parameters.contains(key)) parameters[key] = value;
  }
  return parameters;
}

/// The first rows of the changes, and what the others come to.
void keep_top(json& data, int64_t top) {
  json& rows = data["changes"];
  int64_t left = 0, left_ns = 0;
  while (static_cast<int64_t>(rows.size()) > top) {
    left++;
    left_ns += rows.back()["delta_ns"].get<int64_t>();
    rows.erase(rows.size() - 1);
  }
  data["not_shown"] = {{"rows", left}, {"delta_ns", left_ns}};
}

GateResult judge_all(const json& data, const GateOptions& options) {
  int64_t unmet = 0;
  for (const json& limit : data["expectations"]) unmet += !limit["met"].get<bool>();
  if (unmet > 0)
    return {false, fmt::format("{} of {} limits are not kept", unmet, data["expectations"].size())};
  return judge_gate(data, options);
}

// ---- Reports

void add_runs(std::string& command, const char* option, const json& side) {
  command += option;
  for (const json& run : side["runs"]) command += " " + run.get<std::string>();
}

/// Names the runs by their ids, so that it says the same on any machine.
std::string command_of(const json& comparison, const json& parameters) {
  std::string command = "neurolens compare";
  add_runs(command, " --base", comparison["base"]);
  add_runs(command, " --new", comparison["new"]);
  for (const char* key : {"window", "top", "threshold", "allow_untested", "expect", "peaks"}) {
    if (!parameters.contains(key)) continue;
    std::string option = key;
    std::replace(option.begin(), option.end(), '_', '-');
    const json& value = parameters[key];
    command += " --" + option + " " + shell_word(value.is_string() ? value.get<std::string>() : value.dump());
  }
  for (const std::string& phase : parameters.value("phase", std::vector<std::string>()))
    command += " --phase " + shell_word(phase);
  if (parameters.value("keep_warm_up", false)) command += " --keep-warm-up";
  if (parameters.value("gate", false)) command += " --gate";
  if (parameters.value("allow_inconclusive", false)) command += " --allow-inconclusive";
  return command;
}

constexpr struct {
  const char* format;
  std::string (*write)(const json& comparison, const report::CompareProvenance& provenance);
} kReports[] = {
    {"html", report::compare_html}, {"markdown", report::compare_markdown}, {"junit", report::compare_junit}};

Result<void> write_reports(const json& parameters, json& comparison) {
  const report::CompareProvenance provenance{NEUROLENS_VERSION, command_of(comparison, parameters)};
  json files = json::array();
  for (const auto& kind : kReports) {
    if (!parameters.contains(kind.format)) continue;
    const std::string path = parameters[kind.format], text = kind.write(comparison, provenance);
    NL_CHECK(replace_file(path, text));
    files.push_back({{"format", kind.format}, {"name", path}, {"bytes", text.size()}});
  }
  if (!files.empty()) comparison["files"] = files;
  return {};
}

Result<void> check_files(const Context& context, const json& parameters) {
  for (const auto& kind : kReports) {
    if (parameters.contains(kind.format)) NL_CHECK(may_name_files(context));
  }
  return {};
}

Result<Outcome> run(Context& context, const json& given) {
  NL_CHECK(check_files(context, given));
  NL_TRY(const auto expected, expectations_of(context, given));
  NL_TRY(const auto sides, sides_of(given, expected));
  const json parameters = with_expected_options(given, expected);
  NL_TRY(const auto gate, gate_options(parameters));
  NL_TRY(const auto options, compare_options(context, parameters));
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  NL_TRY(const auto base, inputs_of(context, ledger, sides.first));
  NL_TRY(const auto next, inputs_of(context, ledger, sides.second));
  Outcome outcome;
  NL_TRY(outcome.data, compare::compare_runs(base, next, options));
  outcome.data["expectations"] = check_limits(outcome.data, expected.limits);
  keep_top(outcome.data, parameters.value("top", int64_t{15}));
  if (parameters.value("gate", false)) {
    const GateResult result = judge_all(outcome.data, gate);
    outcome.data["gate"] = {{"passed", result.passed}, {"reason", result.reason}};
    outcome.exit_code = result.passed ? 0 : 1;
  }
  const std::string pair = short_id(base[0].facts.run_id) + " " + short_id(next[0].facts.run_id);
  if (outcome.data["verdict"] == "not_tested")
    outcome.next.push_back("neurolens compare --base RUN RUN ... --new RUN RUN ...");
  if (!parameters.contains("html")) outcome.next.push_back("neurolens compare " + pair + " --html diff.html");
  NL_CHECK(write_reports(parameters, outcome.data));
  return outcome;
}

}  // namespace

const Operation& operation_compare() {
  static constexpr Operation kOperation{
      "compare",
      "Say what changed between two runs, exactly, and whether it is real",
      "you have a run before and after a change, one against a baseline, or one model on two devices",
      "you have one run: analyze; you look for runs like one: similar; for a history: trend",
      "neurolens compare before.json.gz after.json.gz",
      kParameters,
      kResult,
      Effect::kRead,
      {.cli = true, .http = true, .mcp = true},
      Stream::kNone,
      run,
      compare_text};
  return kOperation;
}

}  // namespace nl::ops
