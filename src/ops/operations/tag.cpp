#include <fmt/core.h>

#include "model/labels.h"
#include "ops/runs/run_labels.h"
#include "ops/runs/run_names.h"
#include "ops/text/text.h"
#include "store/ledger.h"

namespace nl::ops::tag_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["run"],
  "properties": {
    "run": {"x-run": true},
    "names": {"type": "array", "items": {"type": "string"}, "x-positional": 2,
              "description": "tags to add; without them: list the tags"},
    "remove": {"type": "boolean", "description": "remove the tags instead"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["run_id", "tags"],
  "properties": {"run_id": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}}})";

Result<Outcome> run(Context& context, const json& parameters) {
  const auto names = parameters.value("names", std::vector<std::string>());
  const bool removes = parameters.value("remove", false);
  for (const auto& name : names) NL_CHECK(model::check_name("tag", name));
  if (removes && names.empty()) {
    return Error{ErrorCode::kBadInput,
                 "--remove needs the tag to remove",
                 "{}",
                 {suggested("tag", {{"run", "RUN"}, {"names", json::array({"NAME"})}, {"remove", true}})}};
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
    outcome.next.push_back(
        suggested("tag", {{"run", short_id(named.run_id)}, {"names", json::array({"NAME"})}}));
  } else {
    outcome.next.push_back(suggested("runs", {{"tag", json::array({tags[0]})}}));
  }
  return outcome;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  std::string list;
  for (const auto& tag : outcome.data["tags"]) list += "  " + tag.get<std::string>();
  return bold("run " + short_id(outcome.data["run_id"]), style) + (list.empty() ? "  no tags" : list) + "\n";
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "tag",
      .summary = "Tag a run with one word such as golden or nightly; remove a tag",
      .use_when = "you want to name or bookmark a run with a short word, or to collect repeats under one",
      .not_when = "it needs a value: label",
      .example = R"({"run": "@latest", "names": ["nightly"]})",
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

}  // namespace nl::ops::tag_operation
