#include <fmt/core.h>

#include <algorithm>

#include "ops/advice/actions.h"
#include "ops/advice/explained.h"
#include "ops/advice/next_calls.h"
#include "ops/text/figure_text.h"
#include "ops/text/text.h"
#include "report/device_label.h"

namespace nl::ops::explain_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false,
  "properties": {
    "run": {"type": "string", "x-positional": 1, "x-run": true,
            "description": "as of other tools; without it: only the meaning of a metric or a rule"},
    "finding": {"type": "string", "minLength": 1, "maxLength": 200, "description": "id of a rule, e.g. launch_bound"},
    "metric": {"type": "string", "minLength": 1, "maxLength": 200, "description": "id of a metric, e.g. idle_time"},
    "kernel": {"type": "string", "minLength": 1, "maxLength": 10000,
               "description": "name of a kernel or a part of it; the one with the most time counts"},
    "span": {"type": "string", "minLength": 1, "maxLength": 100,
             "description": "row of the time line: spans:ID, kernels:ID, copies:ID or syncs:ID"},
    "window": {"x-rare": true, "type": "string", "default": "steady",
               "description": "as of analyze"}
  }})";

constexpr int64_t kExplainedNameBytes = 160;
constexpr int64_t kAllRows = 10'000;  // of the tables of an analysis: the kernel may be a short one

/// What it means and what it is here stay longest.
constexpr Cut kCuts[] = {
    {"/name", kExplainedNameBytes},
    {"/rows/*/name", kExplainedNameBytes},
    {"/rows/*/text", kExplainedNameBytes},
    {"/rows", 5},
    {"/figures", 5},
    {"/suggestions", 2},
    {"/rows", 2},
    {"/limits", 2},
    {"/figures", 2},
    {"/suggestions", 1},
    {"/rows"},
    {"/limits", 1},
    {"/suggestions"},
    {"/figures"},
    {"/limits"},
};

constexpr const char* kSubjects[] = {"finding", "metric", "kernel", "span"};

/// The one thing that is to be explained.
Result<std::string> subject_of(const json& parameters) {
  std::string subject;
  int64_t count = 0;
  for (const char* name : kSubjects) {
    if (!parameters.contains(name)) continue;
    subject = name;
    count++;
  }
  if (count == 1) return subject;
  return Error{ErrorCode::kBadInput,
               count == 0 ? "nothing to explain was named" : "only one thing can be explained at a time",
               "give one of finding, metric, kernel and span: {}",
               {suggested("explain", {{"run", "@latest"}, {"metric", "idle_time"}})}};
}

Result<Explained> explained(const std::string& subject, const std::string& name, const NamedAnalysis* done) {
  if (subject == "metric") return explain_metric(name, done);
  if (subject == "finding") return explain_rule(name, done);
  if (done == nullptr)
    return Error{ErrorCode::kBadInput,
                 "a " + subject + " is explained by a run",
                 "name the run: {}",
                 {suggested("explain", {{"run", "@latest"}, {subject, name}})}};
  return subject == "kernel" ? explain_kernel(name, *done) : explain_row(name, *done);
}

void add_next(Outcome& outcome, const Explained& answer, const std::string& run, const std::string& window) {
  if (run.empty()) {
    outcome.next.push_back(
        answer.kind == "metric"
            ? suggested("metrics", {{"name", answer.name}})
            : suggested("rules", {{"action", "show"}, {"targets", json::array({answer.name})}}));
    return;
  }
  const auto place = std::find_if(answer.rows.begin(), answer.rows.end(), [&](const ExplainedRow& row) {
    return row.row && *row.row != answer.name;
  });
  if (place != answer.rows.end())
    outcome.next.push_back(in_window(suggested("explain", {{"run", run}, {"span", *place->row}}), window));
  if (answer.kind == "finding" && !answer.suggestions.empty())
    outcome.next.push_back(in_window(suggested("suggest", {{"run", run}}), window));
  if (answer.kind == "kernel")
    outcome.next.push_back(
        suggested("timeline", {{"run", run}, {"what", "search"}, {"text", answer.name.substr(0, 100)}}));
  outcome.next.push_back(in_window(suggested("analyze", {{"run", run}}), window));
}

Result<Outcome> run(Context& context, const json& parameters) {
  NL_TRY(const std::string subject, subject_of(parameters));
  const std::string name = parameters[subject];
  if (!parameters.contains("run")) {
    NL_TRY(const Explained answer, explained(subject, name, nullptr));
    Outcome outcome = answered(answer);
    add_next(outcome, answer, "", "");
    return outcome;
  }
  NL_TRY(const NamedAnalysis done,
         analyze_named_run(
             context, {{"run", parameters["run"]}, {"window", parameters["window"]}, {"top", kAllRows}}));
  NL_TRY(const Explained answer, explained(subject, name, &done));
  Outcome outcome = answered(answer);
  add_next(outcome, answer, done.named.call_name(), parameters["window"]);
  return outcome;
}

// ---- For people

constexpr size_t kMostFigures = 8, kMostRows = 8, kMostLimits = 4;

std::string value_text(const ExplainedFigure& figure) {
  if (!figure.value) return "-";
  return figure_text_of(figure.name, *figure.value, figure.unit);
}

/// The definition where there is no value to show.
std::string figure_words(const ExplainedFigure& figure, bool has_run) {
  return figure.value || !has_run ? figure.text : "absent: " + figure.value.reason();
}

std::string figures_text(const Explained& answer, const TextStyle& style) {
  if (answer.figures.empty()) return "";
  using enum TextTable::Align;
  TextTable table({kRight, kLeft, kLeft});
  const auto width = static_cast<size_t>(std::max(style.width, 78) - 44);
  for (size_t i = 0; i < std::min(kMostFigures, answer.figures.size()); i++) {
    const ExplainedFigure& one = answer.figures[i];
    table.add({value_text(one), shortened(one.name, 26),
               shortened(figure_words(one, answer.run_id.has_value()), width)});
  }
  return "\n" + bold("Figures", style) + "\n" + table.text("  ", false, style);
}

std::string rows_text(const std::vector<ExplainedRow>& rows, const TextStyle& style) {
  if (rows.empty()) return "";
  using enum TextTable::Align;
  TextTable table({kLeft, kRight, kRight, kRight, kLeft, kLeft});
  const auto width = static_cast<size_t>(std::max(style.width, 78) - 58);
  for (size_t i = 0; i < std::min(kMostRows, rows.size()); i++) {
    const ExplainedRow& one = rows[i];
    table.add({one.kind, one.share ? percent_text(*one.share) : "",
               one.time_ns ? duration_text(*one.time_ns) : "-", one.calls ? grouped(*one.calls) + "x" : "",
               one.row.value_or(""),
               shortened(one.kind == "gap" ? one.name + ", " + one.text : one.name, width)});
  }
  return "\n" + bold("What it rests on", style) + "\n" + table.text("  ", false, style);
}

std::string suggestions_text(const std::vector<analyze::FindingSuggestion>& suggestions,
                             const TextStyle& style) {
  if (suggestions.empty()) return "";
  std::string out = "\n" + bold("What to do", style) + "\n";
  for (const analyze::FindingSuggestion& one : suggestions)
    out += wrapped(fmt::format("{}. {}", one.suggestion, one.text), "  ", style.width);
  return out;
}

std::string limits_text(const std::vector<std::string>& limits, const TextStyle& style) {
  if (limits.empty()) return "";
  std::string out = "\n" + bold("What it does not say", style) + "\n";
  for (size_t i = 0; i < std::min(kMostLimits, limits.size()); i++)
    out += wrapped(limits[i], "  ", style.width);
  return out;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  const auto& answer = answer_of<Explained>(outcome);
  std::string out = wrapped(answer.meaning, "", style.width);
  if (answer.here)
    out += "\n" + bold("In run " + answer.run_id->substr(0, kShortId), style) + "\n" +
           wrapped(*answer.here, "  ", style.width);
  return out + figures_text(answer, style) + rows_text(answer.rows, style) +
         suggestions_text(answer.suggestions, style) + limits_text(answer.limits, style);
}

std::string conclusion(const Outcome& outcome) {
  const auto& answer = answer_of<Explained>(outcome);
  return answer.here ? *answer.here : answer.meaning;
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "explain",
      .summary =
          "Explain a finding, metric, kernel or span: what it means here, its definition, formula and "
          "evidence",
      .use_when =
          "you ask what a term, name or figure means or stands for, how it is defined, computed or measured, "
          "why a rule flagged or reported something, the evidence or reason behind a finding, whether a "
          "value is good or bad, or want to understand or be told more details about one kernel or span",
      .not_when = "you mean the whole run: analyze",
      .example = R"({"run": "@latest", "metric": "idle_time"})",
      .parameters = kParameters,
      .result = schema_text<Explained>,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = true, .mcp = true},
      .cuts = kCuts,
      .run = run,
      .text = text,
      .conclusion = conclusion,
  };
  return kOperation;
}

}  // namespace nl::ops::explain_operation
