#include <fmt/core.h>

#include "model/labels.h"
#include "ops/runs/run_labels.h"
#include "ops/runs/run_names.h"
#include "ops/text/text.h"
#include "store/ledger.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["run"],
  "properties": {
    "run": {"type": "string", "x-positional": 1, "x-run": true,
            "description": "run id, tag, @latest, @baseline:NAME, bundle folder or profile"},
    "names": {"type": "array", "items": {"type": "string"}, "x-positional": 2,
              "description": "tags to add; none: list the tags"},
    "remove": {"type": "boolean", "description": "take the tags away instead"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["run_id", "tags"],
  "properties": {"run_id": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}}})";

Result<Outcome> run(Context& context, const json& parameters) {
  const auto names = parameters.value("names", std::vector<std::string>());
  const bool removes = parameters.value("remove", false);
  for (const auto& name : names) NL_CHECK(model::check_name("tag", name));
  if (removes && names.empty()) {
    return Error{ErrorCode::kBadInput, "--remove needs the tag to take away",
                 "neurolens tag RUN NAME --remove"};
  }
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  NL_TRY(const auto named, resolve_ledger_run(context, ledger, parameters["run"]));
  if (!names.empty()) {
    NL_CHECK(ledger.change_state([&](store::State& state) {
      return removes ? state.remove_tags(named.run_id, names)
                     : state.add_tags(named.run_id, names, act_of(context));
    }));
    NL_CHECK(ledger.keep(named.run_id));
  }
  NL_TRY(const auto tags, ledger.state().tags(named.run_id));
  Outcome outcome;
  outcome.data = {{"run_id", named.run_id}, {"tags", tags}};
  if (tags.empty()) {
    outcome.next.push_back("neurolens tag " + short_id(named.run_id) + " NAME");
  } else {
    outcome.next.push_back("neurolens runs --tag " + tags[0]);
  }
  return outcome;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  std::string list;
  for (const auto& tag : outcome.data["tags"]) list += "  " + tag.get<std::string>();
  return bold("run " + short_id(outcome.data["run_id"]), style) + (list.empty() ? "  no tags" : list) + "\n";
}

}  // namespace

const Operation& operation_tag() {
  static constexpr Operation kOperation{
      "tag",
      "Tag a run; a tag names the run wherever one is asked for",
      "a run shall be found by a word of yours",
      "the word needs a value: label; it points at one run at a time: baseline",
      "neurolens tag @latest nightly",
      kParameters,
      kResult,
      Effect::kWrite,
      {.cli = true, .http = true, .mcp = true},
      Stream::kNone,
      run,
      text};
  return kOperation;
}

}  // namespace nl::ops
