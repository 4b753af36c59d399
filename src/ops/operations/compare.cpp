#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "compare/comparison.h"
#include "ops/gate/compare_gate.h"
#include "ops/gate/expectations.h"
#include "ops/gate/share.h"
#include "ops/runs/analysis_options.h"
#include "ops/runs/run_sets.h"
#include "ops/screen/compare_text.h"
#include "ops/text/text.h"
#include "report/compare_html.h"
#include "report/compare_junit.h"
#include "report/compare_md.h"
#include "store/run_document.h"

namespace nl::ops::compare_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false,
  "properties": {
    "runs": {"type": "array", "items": {"type": "string"}, "x-positional": 1, "x-run": true,
             "description": "two runs, the base first; a tag or baseline stands for all its runs, which count as repeats"},
    "base": {"type": "array", "items": {"type": "string"}, "x-run": true, "x-many": true, "description": "runs, tags or baselines of the base, instead of the first of two"},
    "new": {"type": "array", "items": {"type": "string"}, "x-run": true, "x-many": true, "description": "the same of the other side"},
    "window": {"type": "string", "x-own-default": "auto",
               "description": "steps (if both sides have similar ones, else steady), steady, whole, step:N, a phase, or the name of an annotation"},
    "keep_warm_up": {"x-rare": true, "type": "boolean", "description": "also count first steps that look like a warm-up"},
    "top": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 10000, "x-own-default": 15, "description": "rows in the table of changes"},
    "threshold": {"type": "string", "x-own-default": "1%", "description": "smaller differences do not matter"},
    "gate": {"type": "boolean", "description": "exit 1 unless the comparison shows that there is no regression"},
    "allow_untested": {"x-rare": true, "type": "string", "description": "with one run on each side, let an increase up to this pass the gate, e.g. 5%"},
    "expect": {"type": "string", "x-host-path": true,
               "description": "YAML file with expectations, which the gate checks"},
    "allow_inconclusive": {"x-rare": true, "type": "boolean", "description": "let an inconclusive comparison pass the gate"},
    "phase": {"x-rare": true, "type": "array", "items": {"type": "string"},
              "description": "name of the ranges of an LLM phase, e.g. prefill=LLM@prefill; also decode=, decode_step="},
    "peaks": {"x-rare": true, "type": "string", "x-host-path": true, "description": "YAML file with your own device peaks"},
    "html": {"type": "string", "x-host-path": true, "x-effect": "write", "description": "write the comparison as one HTML page to this file"},
    "markdown": {"type": "string", "x-host-path": true, "x-effect": "write", "description": "write a comment for a pull request to this file"},
    "junit": {"type": "string", "x-host-path": true, "x-effect": "write", "description": "write JUnit XML for a CI system to this file"},
    "page": {"x-rare": true, "type": "string", "enum": ["html", "markdown", "junit"],
             "description": "print this page instead of the answer; to write files, use the options of the same names"}
  }})";

/// The verdict with its reasons stays, then the largest changes.
constexpr Cut kCuts[] = {
    {"/base/strip"},
    {"/new/strip"},
    {"/changes/*/metrics"},
    {"/changes/*/values"},
    {"/parts/*/values"},
    {"/modules", 3},
    {"/ops", 3},
    {"/devices", 2},
    {"/statistics/values"},
    {"/changes/*/statistics"},
    {"/parts/*/statistics"},
    {"/across/rows", 3},
    {"/changes", 5},
    {"/modules"},
    {"/ops"},
    {"/devices"},
    {"/differences"},
    {"/parts", 4},
    {"/comparability/factors"},
    {"/changes", 2},
    {"/across"},
    {"/base/runs", 1},
    {"/new/runs", 1},
    {"/parts", 1},
    {"/changes"},
    {"/statistics"},
    {"/parts"},
    {"/files"},
    {"/expectations"},
    {"/reasons", 1},
    {"/gate", kKeepAll},
};

Result<compare::RunInput> input_of(store::Ledger& ledger, const NamedRun& named) {
  compare::RunInput input{named.place(), {named.run_id, {}, {}}};
  NL_TRY(const auto document, store::shared_run_document(named.bundle + "/run.json"));
  input.facts.document = *document;
  NL_TRY(const auto labels, ledger.labels(named.run_id, input.facts.document));
  input.facts.labels = store::counting_values(labels);
  NL_TRY(input.facts.files, files_of_run(ledger, named.run_id, input.facts.document));
  return input;
}

bool has_run(const std::vector<compare::RunInput>& inputs, const std::string& run_id) {
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const compare::RunInput& input) { return input.facts.run_id == run_id; });
}

/// The leases of the runs go to `leases`; nobody drops or replaces the runs while they are held.
using Leases = std::vector<std::shared_ptr<store::RunLease>>;
Result<std::vector<compare::RunInput>> inputs_of(Context& context, store::Ledger& ledger,
                                                 const std::vector<std::string>& names, Leases& leases) {
  std::vector<compare::RunInput> inputs;
  for (const std::string& name : names) {
    NL_TRY(const auto runs, resolve_runs(context, ledger, name));
    for (const NamedRun& named : runs) {
      NL_TRY(auto input, input_of(ledger, named));
      leases.push_back(named.lease);
      if (has_run(inputs, named.run_id))
        return Error{ErrorCode::kBadInput, "a run is named twice on one side: " + name,
                     "a repeat must be another run"};
      inputs.push_back(std::move(input));
    }
  }
  return inputs;
}

/// A run on both sides says nothing of their difference. Sides of the same runs are fine: they are equal.
Result<void> check_sides(const std::vector<compare::RunInput>& base,
                         const std::vector<compare::RunInput>& next) {
  size_t common = 0;
  for (const auto& run : next) common += has_run(base, run.facts.run_id);
  if (common == 0 || (common == base.size() && common == next.size())) return {};
  return Error{ErrorCode::kBadInput,
               counted(static_cast<int64_t>(common), "run is", "runs are") + " on both sides",
               "name other runs, or remove the tag from those that belong to one side only"};
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
  return Error{ErrorCode::kBadInput,
               "a comparison needs two runs, or runs given with --base and --new",
               "{}, or --base RUN... --new RUN...",
               {suggested("compare", {{"runs", {"BASE", "NEW"}}})}};
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
  shared.erase("window");  // steps of a comparison are not those of an analysis
  NL_TRY(options.analysis, analysis_options(shared));
  options.window = parameters.value("window", "auto");
  options.keep_warm_up = parameters.value("keep_warm_up", false);
  options.with_figures = parameters.contains("html") || parameters.value("page", "") == "html";
  NL_TRY(options.practical_bound, parse_share("--threshold", parameters.value("threshold", "1%")));
  options.progress = [&context](double fraction) { context.progress({"comparing", fraction}); };
  return options;
}

Result<Expectations> expectations_of(const json& parameters) {
  if (!parameters.contains("expect")) return Expectations{};
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
void keep_top(compare::Comparison& comparison, int64_t top) {
  auto& rows = comparison.changes;
  while (static_cast<int64_t>(rows.size()) > top) {
    comparison.not_shown.rows++;
    comparison.not_shown.delta_ns += rows.back().delta_ns;
    rows.pop_back();
  }
}

// ---- Reports

void add_runs(std::string& command, const char* option, const compare::ComparedSide& side) {
  command += option;
  for (const std::string& run : side.runs) command += " " + run;
}

/// A page says how to make it again, whichever face asked for it. Names the runs by their ids, so that it
/// says the same on any machine.
std::string command_of(const compare::Comparison& comparison, const json& parameters) {
  std::string command = "neurolens compare";
  add_runs(command, " --base", comparison.base);
  add_runs(command, " --new", comparison.next);
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

report::CompareProvenance provenance_of(const compare::Comparison& comparison, const json& parameters) {
  return {NEUROLENS_VERSION, command_of(comparison, parameters)};
}

constexpr struct {
  const char* format;
  std::string (*write)(const compare::Comparison& comparison, const report::CompareProvenance& provenance);
} kReports[] = {
    {"html", report::compare_html}, {"markdown", report::compare_markdown}, {"junit", report::compare_junit}};

Result<void> write_pages(Context& context, const json& parameters, compare::Comparison& comparison) {
  const report::CompareProvenance provenance = provenance_of(comparison, parameters);
  std::vector<compare::WrittenFile> files;
  for (const auto& kind : kReports) {
    if (!parameters.contains(kind.format)) continue;
    const std::string path = parameters[kind.format], text = kind.write(comparison, provenance);
    NL_CHECK(context.page_files.write(path, text));
    files.push_back({kind.format, path, text.size()});
  }
  if (!files.empty()) comparison.files = std::move(files);
  return {};
}

/// To whoever asked for one page instead of files.
Result<void> give_page(Context& context, const json& parameters, const compare::Comparison& comparison) {
  if (!parameters.contains("page")) return {};
  for (const auto& kind : kReports) {
    if (parameters["page"] == kind.format)
      return context.bytes(kind.write(comparison, provenance_of(comparison, parameters)));
  }
  return {};
}

int exit_code_of(const compare::Comparison& comparison) {
  return comparison.gate && !comparison.gate->passed ? 1 : 0;
}

void add_next(Outcome& outcome, const json& parameters) {
  const auto& comparison = answer_of<compare::Comparison>(outcome);
  if (comparison.verdict == stats::Verdict::kNotTested)
    outcome.next.push_back(
        suggested("compare", {{"base", {"RUN", "RUN", "..."}}, {"new", {"RUN", "RUN", "..."}}}));
  if (parameters.contains("html")) {
    outcome.next.push_back(suggested("view", {{"runs", json::array({parameters["html"]})}}));
    return;
  }
  const json pair = {short_id(comparison.base.runs.front()), short_id(comparison.next.runs.front())};
  outcome.next.push_back(suggested("compare", {{"runs", pair}, {"html", "diff.html"}}));
  const bool is_of_two = comparison.base.runs.size() + comparison.next.runs.size() == 2;
  if (is_of_two) outcome.next.push_back(suggested("view", {{"runs", pair}}));
}

Result<Outcome> run(Context& context, const json& given) {
  if (given.contains("page") && !context.bytes)
    return Error{ErrorCode::kBadInput, "a page cannot be part of a JSON answer",
                 "write it to a file: --html FILE"};
  NL_TRY(const auto expected, expectations_of(given));
  NL_TRY(const auto sides, sides_of(given, expected));
  const json parameters = with_expected_options(given, expected);
  NL_TRY(const auto gate, gate_options(parameters));
  NL_TRY(auto options, compare_options(context, parameters));
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  Leases leases;
  NL_TRY(const auto base, inputs_of(context, ledger, sides.first, leases));
  NL_TRY(const auto next, inputs_of(context, ledger, sides.second, leases));
  NL_CHECK(check_sides(base, next));
  // Limits may be of any kernel; without them nobody asks for rows that are not shown.
  if (expected.limits.empty()) options.most_changes = parameters.value("top", int64_t{15});
  NL_TRY(auto comparison, compare::compare_runs(base, next, options));
  comparison.expectations = check_limits(comparison, expected.limits);
  keep_top(comparison, parameters.value("top", int64_t{15}));
  if (parameters.value("gate", false)) comparison.gate = judge_gate(comparison, gate);
  NL_CHECK(write_pages(context, parameters, comparison));
  NL_CHECK(give_page(context, parameters, comparison));
  Outcome outcome = answered(std::move(comparison));
  outcome.exit_code = exit_code_of(answer_of<compare::Comparison>(outcome));
  add_next(outcome, parameters);
  return outcome;
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "compare",
      .summary =
          "Compare two runs or sets of runs: what changed, what got slower or faster, and is the difference "
          "real, significant or just noise",
      .use_when =
          "you have a run and a baseline, results before and after a change, optimisation or upgrade (did it "
          "help?); a regression, speedup or improvement between builds, commits, versions, configurations, "
          "or the same model on two devices (A/B); ask which kernels were added, removed or replaced; or "
          "want a gate that fails the pipeline if latency regresses by some percent",
      .not_when = "you have a history of runs: trend",
      .example = R"({"runs": ["before.json.gz", "after.json.gz"]})",
      .parameters = kParameters,
      .result = schema_text<compare::Comparison>,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = true, .mcp = true},
      .stream = Stream::kPage,
      .cuts = kCuts,
      .run = run,
      .text = compare_text,
  };
  return kOperation;
}

}  // namespace nl::ops::compare_operation
