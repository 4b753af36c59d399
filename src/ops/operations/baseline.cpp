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
  "type": "object", "additionalProperties": false,
  "properties": {
    "name": {"type": "string", "x-positional": 1, "description": "name of the baseline; none: list all"},
    "run": {"type": "string", "x-positional": 2, "x-run": true,
            "description": "the run it points at from now on: run id, tag, @latest, bundle folder or profile"},
    "remove": {"type": "boolean", "description": "take the baseline away; its run stays"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["baselines"],
  "properties": {"baselines": {"type": "array", "items": {"type": "object",
    "required": ["name", "run_id", "set_at_ns", "user"]}}}})";

Error no_such_baseline(const std::string& name) {
  return Error{ErrorCode::kNotFound, "no baseline is called: " + name, "{} lists them", {{"baseline"}}};
}

Result<void> set(Context& context, store::Ledger& ledger, const std::string& name, const std::string& run) {
  NL_TRY(const auto named, resolve_ledger_run(context, ledger, run));
  NL_CHECK(ledger.change_state(
      [&](store::State& state) { return state.set_baseline(name, named.run_id, act_of(context)); }));
  return ledger.keep(named.run_id);
}

Result<void> remove(store::Ledger& ledger, const std::string& name) {
  return ledger.change_state([&](store::State& state) -> Result<void> {
    NL_TRY(const bool removed, state.remove_baseline(name));
    return removed ? Result<void>() : Result<void>(no_such_baseline(name));
  });
}

Result<void> change(Context& context, store::Ledger& ledger, const json& parameters) {
  const std::string name = parameters.value("name", "");
  const bool removes = parameters.value("remove", false);
  if (removes && (name.empty() || parameters.contains("run"))) {
    return Error{ErrorCode::kBadInput,
                 "--remove takes the name of a baseline and no run",
                 "{}",
                 {suggested("baseline", {{"name", "NAME"}, {"remove", true}})}};
  }
  if (removes) return remove(ledger, name);
  if (parameters.contains("run")) return set(context, ledger, name, parameters["run"]);
  return {};
}

Result<Outcome> run(Context& context, const json& parameters) {
  const std::string name = parameters.value("name", "");
  if (!name.empty()) NL_CHECK(model::check_name("baseline", name));
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  NL_CHECK(change(context, ledger, parameters));
  NL_TRY(const auto all, ledger.state().baselines());
  const bool one = !name.empty() && !parameters.value("remove", false);
  json list = json::array();
  for (const auto& baseline : all) {
    if (one && baseline.name != name) continue;
    list.push_back({{"name", baseline.name},
                    {"run_id", baseline.run_id},
                    {"set_at_ns", baseline.set.at_ns},
                    {"user", baseline.set.user}});
  }
  if (one && list.empty()) return no_such_baseline(name);
  Outcome outcome;
  outcome.next.push_back(
      list.empty() ? suggested("baseline", {{"name", "main"}, {"run", "@latest"}})
                   : suggested("show", {{"run", "@baseline:" + list[0]["name"].get<std::string>()}}));
  outcome.data = {{"baselines", std::move(list)}};
  return outcome;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  const auto& list = outcome.data["baselines"];
  if (list.empty()) return "There are no baselines.\n";
  using enum TextTable::Align;
  TextTable table({kLeft, kLeft, kLeft, kLeft});
  table.add({"baseline", "run", "since", "by"});
  for (const auto& one : list) {
    table.add({one["name"], short_id(one["run_id"]), time_text(one["set_at_ns"]), one["user"]});
  }
  return table.text("", true, style);
}

}  // namespace

const Operation& operation_baseline() {
  static constexpr Operation kOperation{
      .name = "baseline",
      .summary = "Give a run a name to measure others against",
      .use_when = "later runs shall be held against this one: @baseline:NAME names it",
      .not_when = "several runs share the name: tag",
      .example = R"({"name": "main", "run": "@latest"})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kWrite,
      .reach = {.cli = true, .http = true, .mcp = true},
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops
