#include <fmt/core.h>

#include <algorithm>

#include "analyze/rules/rule_set.h"
#include "base/decimal.h"
#include "base/utf8.h"
#include "model/labels.h"
#include "ops/runs/named_analysis.h"
#include "ops/runs/run_labels.h"
#include "ops/runs/run_names.h"
#include "ops/runs/run_state.h"
#include "ops/text/text.h"
#include "store/ledger.h"

namespace nl::ops::note_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["run"],
  "properties": {
    "run": {"x-run": true},
    "text": {"type": "string", "x-positional": 2, "x-prose": true, "x-effect": "write",
             "description": "the note to add, in Markdown; without it: list the notes"},
    "about": {"type": "string", "maxLength": 4096,
              "description": "what of the run the note is about: kernel:NAME, span:ID, finding:RULE or compare:RUN"},
    "edit": {"x-rare": true, "type": "integer", "minimum": 1, "x-effect": "write", "description": "number of the note that gets this text; what it said is kept"},
    "remove": {"x-rare": true, "type": "integer", "minimum": 1, "x-effect": "write", "description": "number of the note to remove; what it said is kept"},
    "history": {"x-rare": true, "type": "boolean", "default": false, "description": "also what notes said before they were changed or removed"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["run_id", "notes"],
  "definitions": {"note": {"type": "object", "required": ["note", "written_at_ns", "user", "text", "about"],
    "properties": {"note": {"type": "integer", "description": "its number; never given twice"},
      "written_at_ns": {"type": "integer"}, "user": {"type": "string"},
      "text": {"type": "string", "description": "Markdown, as it was written"},
      "about": {"type": "string", "description": "kernel:NAME, span:ID, finding:RULE or compare:RUN; empty: the run"},
      "until_ns": {"type": "integer", "description": "when it was changed or removed"},
      "until_user": {"type": "string", "description": "by whom"}}}},
  "properties": {"run_id": {"type": "string"},
    "notes": {"type": "array", "items": {"$ref": "#/definitions/note"}},
    "past_notes": {"type": "array", "items": {"$ref": "#/definitions/note"},
                   "description": "with history: what notes said before, in the order in which they ended"}}})";

constexpr Cut kCuts[] = {{"/past_notes", 0, kOldestFirst}, {"/notes", 0, kOldestFirst}};

Error no_such(const std::string& what, const std::string& name, SuggestedCall lists) {
  return Error{ErrorCode::kNotFound, "the run has no such " + what + ": " + name, "{} lists them", {lists}};
}

SuggestedCall names_query(const std::string& run_id, const char* sql) {
  return suggested("query", {{"run", short_id(run_id)}, {"sql", sql}});
}

Result<int64_t> rows_of(const NamedRun& named, const std::string& table, const std::string& condition) {
  NL_TRY(const auto open, open_derived(named));
  if (!open->has(table)) return int64_t{0};
  NL_TRY(store::Connection * connection, open->ask({table}));
  return connection->integer("SELECT count(*) FROM " + table + " WHERE " + condition);
}

Result<void> check_kernel(const NamedRun& named, const std::string& name) {
  NL_TRY(const int64_t found, rows_of(named, "kernels", "name = " + store::sql_quoted(name)));
  if (found > 0) return {};
  return no_such("kernel", name, names_query(named.run_id, "SELECT DISTINCT name FROM kernels"));
}

Result<int64_t> checked_span(const NamedRun& named, const std::string& number) {
  int64_t id = 0;
  NL_TRY(const int64_t found, parse_int64(number, id)
                                  ? rows_of(named, "spans", "span_id = " + std::to_string(id))
                                  : Result<int64_t>(0));
  if (found > 0) return id;
  return no_such("span", number, names_query(named.run_id, "SELECT span_id, name FROM spans"));
}

Result<void> check_finding(const NamedRun& named, const std::string& rule) {
  NL_TRY(const auto open, open_derived(named));
  NL_TRY(store::Connection * connection, open->ask({}));
  NL_TRY(const auto rules, analyze::load_rules(*connection, {}));
  if (rules.find(rule) != nullptr) return {};
  return Error{ErrorCode::kNotFound, "there is no such rule: " + rule, "{} lists them", {{"rules"}}};
}

/// What the note is about, as it is kept: of another run its whole id.
Result<std::string> subject(Context& context, store::Ledger& ledger, const NamedRun& named,
                            const std::string& about) {
  const Error wrong{ErrorCode::kBadInput, "notes are not about: " + about,
                    "kernel:NAME, span:ID, finding:RULE or compare:RUN"};
  const size_t colon = std::min(about.find(':'), about.size());
  if (!is_utf8(about)) return Error{ErrorCode::kBadInput, "what the note is about is no UTF-8 text"};
  const std::string kind = about.substr(0, colon), name = about.substr(std::min(colon + 1, about.size()));
  if (name.empty()) return wrong;
  if (kind == "compare") {
    NL_TRY(const auto other, resolve_ledger_run(context, ledger, name));
    return "compare:" + other.run_id;
  }
  if (kind == "kernel") {
    NL_CHECK(check_kernel(named, name));
  } else if (kind == "span") {
    NL_TRY(const int64_t id, checked_span(named, name));
    return "span:" + std::to_string(id);
  } else if (kind == "finding") {
    NL_CHECK(check_finding(named, name));
  } else {
    return wrong;
  }
  return about;
}

Result<void> check_number(bool is_there, const std::string& run_id, int64_t number) {
  if (is_there) return {};
  return Error{ErrorCode::kNotFound,
               fmt::format("the run has no note {}", number),
               "{} lists them",
               {suggested("note", {{"run", short_id(run_id)}})}};
}

Result<void> change(const store::Act& act, store::State& state, const std::string& run_id,
                    const json& parameters, const std::string& about) {
  if (parameters.contains("edit")) {
    NL_TRY(const bool changed, state.change_note(run_id, parameters["edit"], parameters["text"], act));
    return check_number(changed, run_id, parameters["edit"]);
  }
  if (parameters.contains("text")) return state.add_note(run_id, parameters["text"], about, act);
  NL_TRY(const bool removed, state.remove_note(run_id, parameters["remove"], act));
  return check_number(removed, run_id, parameters["remove"]);
}

Result<void> check_together(const json& parameters) {
  const bool writes = parameters.contains("text");
  if (writes) NL_CHECK(model::check_note(parameters["text"].get<std::string>()));
  if (writes && parameters.contains("remove"))
    return Error{ErrorCode::kBadInput, "a text and --remove cannot be used together",
                 "use one of them at a time"};
  if (!writes && (parameters.contains("edit") || parameters.contains("about")))
    return Error{ErrorCode::kBadInput, "there is no text",
                 "neurolens note RUN \"text\" with --edit or --about"};
  if (parameters.contains("edit") && parameters.contains("about"))
    return Error{ErrorCode::kBadInput, "what a note is about does not change",
                 "remove the note and write another one"};
  return {};
}

Result<Outcome> run(Context& context, const json& parameters) {
  NL_CHECK(check_together(parameters));
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  NL_TRY(const auto named, resolve_ledger_run(context, ledger, parameters["run"]));
  if (parameters.contains("text") || parameters.contains("remove")) {
    std::string about;
    if (parameters.contains("about")) {
      NL_TRY(about, subject(context, ledger, named, parameters["about"]));
    }
    NL_CHECK(ledger.change_state([&](store::State& state) {
      return change(act_of(context), state, named.run_id, parameters, about);
    }));
    NL_CHECK(ledger.keep(named.run_id));
  }
  NL_TRY(const auto notes, ledger.state().notes(named.run_id));
  Outcome outcome;
  outcome.data = {{"run_id", named.run_id}, {"notes", json::array()}};
  for (const auto& note : notes) outcome.data["notes"].push_back(note_json(note));
  if (parameters["history"]) {
    NL_TRY(const auto past, ledger.state().past_notes(named.run_id));
    outcome.data["past_notes"] = json::array();
    for (const auto& note : past) outcome.data["past_notes"].push_back(past_note_json(note));
  }
  const std::string id = short_id(named.run_id);
  outcome.next.push_back(notes.empty() ? suggested("note", {{"run", id}, {"text", "what was tried"}})
                                       : suggested("show", {{"run", id}}));
  return outcome;
}

/// Lines of a note stay lines; everything else that is not plain text becomes a blank.
std::string note_text(const std::string& text) {
  std::string out;
  for (size_t from = 0; from <= text.size();) {
    const size_t end = std::min(text.find('\n', from), text.size());
    out += "     " + shortened(text.substr(from, end - from), text.size() + 1) + "\n";
    from = end + 1;
  }
  return out;
}

std::string who_and_what(const json& note) {
  const std::string about = note["about"];
  return note["user"].get<std::string>() + ", " + time_text(note["written_at_ns"]) +
         (about.empty() ? "" : ", about " + shortened(about, 100));
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  std::string out = bold("run " + short_id(outcome.data["run_id"]), style) + "\n";
  if (outcome.data["notes"].empty()) out += "  no notes\n";
  for (const json& note : outcome.data["notes"])
    out += fmt::format("  {}  {}\n", note["note"].get<int64_t>(), dim(who_and_what(note), style)) +
           note_text(note["text"]);
  const json past = outcome.data.value("past_notes", json::array());
  if (!past.empty()) out += "\nbefore:\n";
  for (const json& note : past)
    out += fmt::format("  {}  {}\n", note["note"].get<int64_t>(),
                       dim(who_and_what(note) + "; until " + time_text(note["until_ns"]) + " by " +
                               note["until_user"].get<std::string>(),
                           style)) +
           note_text(note["text"]);
  return out;
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "note",
      .summary =
          "Write, change or read notes: comments of people on a run, kernel, span, finding or comparison",
      .use_when =
          "you want to leave or attach a comment, remark, message or text for colleagues or the team, write "
          "down or document what you learned or why, or read what others wrote",
      .not_when = "you want to find runs by it: label",
      .example = R"({"run": "@latest", "text": "first run with the new kernel"})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = true, .mcp = true},
      .cost = Cost::kLight,
      .cuts = kCuts,
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::note_operation
