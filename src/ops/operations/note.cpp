#include <fmt/core.h>

#include "model/labels.h"
#include "ops/runs/run_labels.h"
#include "ops/runs/run_names.h"
#include "ops/runs/run_state.h"
#include "ops/text/text.h"
#include "store/ledger.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["run"],
  "properties": {
    "run": {"x-run": true},
    "text": {"type": "string", "x-positional": 2, "x-prose": true, "description": "the note to add; without it: list the notes"},
    "remove": {"type": "integer", "minimum": 1, "description": "number of the note to remove"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["run_id", "notes"],
  "properties": {"run_id": {"type": "string"}, "notes": {"type": "array", "items": {"type": "object",
    "required": ["note", "written_at_ns", "user", "text"]}}}})";

Result<void> change(const Context& context, store::State& state, const std::string& run_id,
                    const json& parameters) {
  if (parameters.contains("text")) return state.add_note(run_id, parameters["text"], act_of(context));
  NL_TRY(const bool removed, state.remove_note(run_id, parameters["remove"]));
  if (removed) return {};
  return Error{ErrorCode::kNotFound,
               fmt::format("the run has no note {}", parameters["remove"].get<int64_t>()),
               "{} lists them",
               {suggested("note", {{"run", short_id(run_id)}})}};
}

Result<Outcome> run(Context& context, const json& parameters) {
  if (parameters.contains("text")) NL_CHECK(model::check_note(parameters["text"].get<std::string>()));
  if (parameters.contains("text") && parameters.contains("remove")) {
    return Error{ErrorCode::kBadInput, "a text and --remove cannot be used together",
                 "use one of them at a time"};
  }
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  NL_TRY(const auto named, resolve_ledger_run(context, ledger, parameters["run"]));
  if (parameters.contains("text") || parameters.contains("remove")) {
    NL_CHECK(ledger.change_state(
        [&](store::State& state) { return change(context, state, named.run_id, parameters); }));
    NL_CHECK(ledger.keep(named.run_id));
  }
  NL_TRY(const auto notes, ledger.state().notes(named.run_id));
  Outcome outcome;
  outcome.data = {{"run_id", named.run_id}, {"notes", json::array()}};
  for (const auto& note : notes) outcome.data["notes"].push_back(note_json(note));
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

std::string text(const Outcome& outcome, const TextStyle& style) {
  std::string out = bold("run " + short_id(outcome.data["run_id"]), style) + "\n";
  if (outcome.data["notes"].empty()) return out + "  no notes\n";
  for (const auto& note : outcome.data["notes"]) {
    out += fmt::format("  {}  {}\n", note["note"].get<int64_t>(),
                       dim(note["user"].get<std::string>() + ", " + time_text(note["written_at_ns"]), style));
    out += note_text(note["text"]);
  }
  return out;
}

}  // namespace

const Operation& operation_note() {
  static constexpr Operation kOperation{
      .name = "note",
      .summary = "Add a note to a run, or read its notes",
      .use_when = "something about a run is worth a sentence",
      .not_when = "you want to find runs by it: label or tag",
      .example = R"({"run": "@latest", "text": "first run with the new kernel"})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kWrite,
      .reach = {.cli = true, .http = true, .mcp = true},
      .cost = Cost::kLight,
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops
