#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/files.h"
#include "compare/comparison.h"
#include "ops/analysis_options.h"
#include "ops/compare_gate.h"
#include "ops/expectations.h"
#include "ops/run_names.h"
#include "ops/text.h"
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

Result<compare::RunInput> input_of(Context& context, const std::string& name) {
  NL_TRY(const auto named, resolve_run(context, name));
  compare::RunInput input{named.bundle, {named.run_id, {}, {}}};
  NL_TRY(input.facts.document, store::read_run_document(named.bundle + "/run.json"));
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  NL_TRY(const auto kept, ledger.state().labels(named.run_id));
  for (const auto& label : store::merge_labels(store::source_labels(input.facts.document), kept))
    input.facts.labels[label.key] = label.effective().value;
  return input;
}

Result<std::vector<compare::RunInput>> inputs_of(Context& context, const std::vector<std::string>& names) {
  std::vector<compare::RunInput> inputs;
  for (const std::string& name : names) {
    NL_TRY(auto input, input_of(context, name));
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
  options.top = parameters.value("top", int64_t{15});
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
  while (static_cast<int64_t>(rows.size()) > top) {
    json& rest = data["not_shown"];
    rest["rows"] = rest["rows"].get<int64_t>() + 1;
    rest["delta_ns"] = rest["delta_ns"].get<int64_t>() + rows.back()["delta_ns"].get<int64_t>();
    rows.erase(rows.size() - 1);
  }
}

GateResult judge_all(const json& data, const GateOptions& options) {
  int64_t unmet = 0;
  for (const json& limit : data["expectations"]) unmet += !limit["met"].get<bool>();
  if (unmet > 0)
    return {false, fmt::format("{} of {} limits are not kept", unmet, data["expectations"].size())};
  return judge_gate(data, options);
}

// ---- Reports

/// For a shell, as it would be typed.
std::string quoted(const std::string& text) {
  static constexpr char kPlain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

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
    command += " --" + option + " " + quoted(value.is_string() ? value.get<std::string>() : value.dump());
  }
  for (const std::string& phase : parameters.value("phase", std::vector<std::string>()))
    command += " --phase " + quoted(phase);
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
  NL_TRY(auto options, compare_options(context, parameters));
  NL_TRY(const auto base, inputs_of(context, sides.first));
  NL_TRY(const auto next, inputs_of(context, sides.second));
  const int64_t top = std::exchange(options.top, INT64_MAX);
  Outcome outcome;
  NL_TRY(outcome.data, compare::compare_runs(base, next, options));
  outcome.data["expectations"] = check_limits(outcome.data, expected.limits);
  keep_top(outcome.data, top);
  if (parameters.value("gate", false)) {
    const GateResult result = judge_all(outcome.data, gate);
    outcome.data["gate"] = {{"passed", result.passed}, {"reason", result.reason}};
    outcome.exit_code = result.passed ? 0 : 1;
  }
  NL_CHECK(write_reports(parameters, outcome.data));
  return outcome;
}

// ---- Text

/// A bar to the left for less and to the right for more, from one axis.
std::string delta_bar(int64_t delta, int64_t largest, size_t half) {
  const double share = largest == 0 ? 0 : static_cast<double>(std::abs(delta)) / static_cast<double>(largest);
  const auto length = static_cast<size_t>(std::lround(share * static_cast<double>(half)));
  std::string left(half - (delta < 0 ? length : 0), ' '), right;
  for (size_t i = 0; i < length; i++) (delta < 0 ? left : right) += "█";
  return left + "│" + right;
}

std::string verdict_text(const json& data, const TextStyle& style) {
  std::string verdict = data["verdict"];
  std::replace(verdict.begin(), verdict.end(), '_', ' ');
  std::string out = "  " + bold("verdict   " + verdict, style);
  const auto& reasons = data["reasons"];
  for (size_t i = 0; i < std::min<size_t>(3, reasons.size()); i++)
    out += (i == 0 ? ": " : "; ") + reasons[i].get<std::string>();
  return out + "\n";
}

std::string wall_text(const json& data, const TextStyle& style) {
  const int64_t base = data["base"]["window_ns"], next = data["new"]["window_ns"];
  std::string change = signed_duration_text(data["delta_ns"]);
  if (!data["ratio"].is_null()) change += " (" + signed_percent_text(data["ratio"].get<double>() - 1) + ")";
  const std::string unit = data["unit"];
  const std::string many = data["base"]["units"] == 1 && data["new"]["units"] == 1
                               ? ""
                               : fmt::format(", mean of {} and {}", data["base"]["units"].get<int64_t>(),
                                             data["new"]["units"].get<int64_t>());
  return fmt::format("  {:<10}{} → {}  {}{}\n", unit, duration_text(base), duration_text(next),
                     bold(change, style), many);
}

std::string warm_up_text(const json& data, const TextStyle& style) {
  const int64_t base = data["base"]["warm_up_left_out"], next = data["new"]["warm_up_left_out"];
  if (base == 0 && next == 0) return "";
  return "  " +
         dim(fmt::format("left out as warm-up: the first {} and {} steps (--keep-warm-up counts them)", base,
                         next),
             style) +
         "\n";
}

std::string score_text(const json& data, const TextStyle& style) {
  std::string unlike;
  for (const json& factor : data["comparability"]["factors"]) {
    if (factor["state"] != "different") continue;
    unlike += (unlike.empty() ? "" : ", ") + factor["name"].get<std::string>();
  }
  return "  " +
         dim(fmt::format("comparable {:.2f}{}", data["comparability"]["score"].get<double>(),
                         unlike.empty() ? "" : "; differs: " + unlike),
             style) +
         "\n";
}

std::string tested_text(const json& statistics, const TextStyle& style) {
  if (!statistics.contains("p_adjusted") || statistics["ratio_interval"].is_null()) return "";
  const json& interval = statistics["ratio_interval"];
  return "  " +
         dim(fmt::format("{} and {} runs: ratio {:.4f} [{:.4f}, {:.4f}], p {:.2g}",
                         statistics["base"]["n"].get<int64_t>(), statistics["new"]["n"].get<int64_t>(),
                         statistics["ratio"].get<double>(), interval["low"].get<double>(),
                         interval["high"].get<double>(), statistics["p_adjusted"].get<double>()),
             style) +
         "\n";
}

using Align = TextTable::Align;

std::string parts_text(const json& data, const TextStyle& style) {
  int64_t largest = 0;
  for (const json& part : data["parts"])
    largest = std::max(largest, std::abs(part["delta_ns"].get<int64_t>()));
  TextTable table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.add({"part", "base", "new", "delta", ""});
  for (const json& part : data["parts"]) {
    const int64_t delta = part["delta_ns"];
    if (std::abs(delta) * 200 < largest) continue;
    const std::string kind = part["kind"], name = part["name"];
    table.add({kind == name ? name : kind + " " + name, duration_text(part["base_ns"]),
               duration_text(part["new_ns"]), signed_duration_text(delta), delta_bar(delta, largest, 12)});
  }
  return fmt::format("\nWhere the difference of {} is\n", signed_duration_text(data["delta_ns"])) +
         table.text("  ", true, style);
}

std::string calls_text(const json& change) {
  const auto calls = [](const json& side) {
    return side.is_null() ? std::string("-") : fmt::format("{:.4g}", side["calls_per_unit"].get<double>());
  };
  const std::string before = calls(change["base"]), after = calls(change["new"]);
  return before == after ? before : before + " → " + after;
}

std::string changes_text(const json& data, const TextStyle& style) {
  if (data["changes"].empty()) return "";
  TextTable table(
      {Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft, Align::kLeft});
  table.add({"delta", "base", "new", "calls", "change", "class", "work"});
  const auto time = [](const json& side) {
    return side.is_null() ? std::string("-") : duration_text(side["time_ns"]);
  };
  const size_t width = style.width > 100 ? static_cast<size_t>(style.width) - 75 : 28;
  for (const json& change : data["changes"]) {
    if (change["delta_ns"] == 0) continue;
    table.add({signed_duration_text(change["delta_ns"]), time(change["base"]), time(change["new"]),
               calls_text(change), change["kind"], change["class"],
               shortened(change["name"].get<std::string>(), width)});
  }
  std::string out = "\nWhat changed in the work, largest first\n" + table.text("  ", true, style);
  const int64_t rest = data["not_shown"]["rows"];
  if (rest > 0)
    out += fmt::format("  {} more rows: {}\n", rest, signed_duration_text(data["not_shown"]["delta_ns"]));
  return out;
}

std::string limits_text(const json& limits, const TextStyle& style) {
  if (limits.empty()) return "";
  TextTable table({Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
  table.add({"limit of", "", "at most", "is", "share"});
  for (const json& limit : limits) {
    const bool known = !limit["value_ns"].is_null();
    table.add({limit["kind"], limit["what"], limit["limit"],
               known ? duration_text(limit["value_ns"]) : "not there",
               (known ? percent_text(limit["share"]) : "-") +
                   (limit["met"].get<bool>() ? "  kept" : "  NOT KEPT")});
  }
  return "\nWhat is expected\n" + table.text("  ", true, style);
}

std::string share_or_dash(const json& share) {
  return share.is_null() ? "-" : percent_text(share);
}

std::string ratio_or_dash(const json& ratio) {
  return ratio.is_null() ? "-" : fmt::format("{:.2f}", ratio.get<double>());
}

std::string across_text(const json& data, const TextStyle& style) {
  const json& across = data["across"];
  std::string out = "\n" + across["words"].get<std::string>() + "\n";
  TextTable table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
                   Align::kRight, Align::kRight});
  table.add({across["level"], "base", "new", "ratio", "by peaks", "roof base", "roof new", "lost"});
  size_t shown = 0;
  for (const json& row : across["rows"]) {
    if (shown++ == 12) break;
    table.add({shortened(row["name"].get<std::string>(), 36), duration_text(row["base"]["time_ns"]),
               duration_text(row["new"]["time_ns"]), ratio_or_dash(row["time_ratio"]),
               ratio_or_dash(row["hardware_ratio"]), share_or_dash(row["base"]["roof_share"]),
               share_or_dash(row["new"]["roof_share"]),
               row["lost_ns"].is_null() ? "-" : signed_duration_text(row["lost_ns"])});
  }
  return out + table.text("  ", true, style);
}

std::string files_text(const json& data, const TextStyle& style) {
  std::string out;
  for (const json& file : data.value("files", json::array()))
    out += fmt::format("{}  {}\n", file["name"].get<std::string>(), dim(bytes_text(file["bytes"]), style));
  return out.empty() ? out : "\n" + out;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  const json& data = outcome.data;
  std::string out = fmt::format(
      "compare {} → {}  {}{}\n", bold(short_id(data["base"]["run_id"]), style),
      bold(short_id(data["new"]["run_id"]), style), data["base"]["window"].get<std::string>(),
      data["base"]["device"].is_null() ? "" : ", device " + data["base"]["device"].get<std::string>());
  out += verdict_text(data, style) + wall_text(data, style) + tested_text(data["statistics"], style) +
         warm_up_text(data, style) + score_text(data, style);
  if (data.contains("gate"))
    out += "  " + bold(data["gate"]["passed"].get<bool>() ? "gate passed" : "gate failed", style) + ": " +
           data["gate"]["reason"].get<std::string>() + "\n";
  out += limits_text(data["expectations"], style) + parts_text(data, style);
  out += data["across"].is_null() ? changes_text(data, style) : across_text(data, style);
  return out + files_text(data, style);
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
      text};
  return kOperation;
}

}  // namespace nl::ops
