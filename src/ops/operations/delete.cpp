#include <fmt/core.h>

#include "ops/runs/run_labels.h"
#include "ops/runs/run_names.h"
#include "ops/text/text.h"
#include "store/ledger.h"

namespace nl::ops::delete_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["run", "reason"],
  "properties": {
    "run": {"type": "string", "x-positional": 1, "x-run": true, "description": "run id, tag or @latest, in the ledger"},
    "reason": {"type": "string", "minLength": 1, "maxLength": 1000, "x-prose": true,
               "description": "why; it is kept with who and when"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["run_id", "reason", "deleted_by", "deleted_at_ns"],
  "properties": {"run_id": {"type": "string"}, "reason": {"type": "string"}, "deleted_by": {"type": "string"},
                 "deleted_at_ns": {"type": "integer"}}})";

/// The id of a run that is in the ledger. A path would be imported first, only to be deleted.
Result<std::string> run_to_delete(Context& context, store::Ledger& ledger, const std::string& name) {
  const bool paths = std::exchange(context.host_paths, false);
  const auto named = resolve_ledger_run(context, ledger, name);
  context.host_paths = paths;
  NL_CHECK(named);
  return named->run_id;  // our own lease ends here
}

Result<Outcome> run(Context& context, const json& parameters) {
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  NL_TRY(const std::string run_id, run_to_delete(context, ledger, parameters["run"]));
  const std::string reason = parameters["reason"];
  const store::Act act = act_of(context);
  NL_CHECK(ledger.delete_run(run_id, reason, act));
  Outcome outcome;
  outcome.data = {
      {"run_id", run_id}, {"reason", reason}, {"deleted_by", act.user}, {"deleted_at_ns", act.at_ns}};
  outcome.next.push_back(suggested("runs"));
  return outcome;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  return fmt::format("{}  deleted: {}\n", bold(short_id(outcome.data["run_id"]), style),
                     outcome.data["reason"].get<std::string>());
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "delete",
      .summary = "Delete a run from the ledger and note who did it, when and why",
      .use_when = "a run must go: it was imported by mistake, or it holds what nobody may keep",
      .not_when = "you want to free space: gc --drop-on-the-way removes runs that nobody asked for by name",
      .example = R"({"run": "a1b2c3d4", "reason": "wrong machine"})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kWrite,
      .reach = {.cli = true, .http = true, .mcp = false},
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::delete_operation
