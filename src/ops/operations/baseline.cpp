#include <fmt/core.h>

#include <set>

#include "model/labels.h"
#include "ops/runs/run_labels.h"
#include "ops/runs/run_sets.h"
#include "ops/text/text.h"
#include "store/ledger.h"

namespace nl::ops::baseline_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false,
  "properties": {
    "name": {"type": "string", "x-positional": 1, "description": "name of the baseline; without it: list all"},
    "run": {"type": "string", "x-positional": 2, "x-run": true,
            "description": "run id, @latest or file; a tag stands for all its runs"},
    "add": {"x-rare": true, "type": "boolean", "description": "keep the runs of the baseline and add these"},
    "remove": {"type": "boolean", "description": "remove the baseline; its runs stay"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["baselines"],
  "properties": {"baselines": {"type": "array", "items": {"type": "object",
    "required": ["name", "run_id", "run_ids", "set_at_ns", "user"],
    "properties": {"run_id": {"type": "string", "description": "the first of its runs"},
                   "run_ids": {"type": "array", "items": {"type": "string"}, "description": "all of them: repeats of each other"}}}}}})";

Error no_such_baseline(const std::string& name) {
  return Error{ErrorCode::kNotFound, "there is no baseline named: " + name, "{} lists them", {{"baseline"}}};
}

/// Those that the baseline has already, if they stay.
Result<std::set<std::string>> kept_runs(store::Ledger& ledger, const std::string& name, bool adds) {
  std::set<std::string> ids;
  if (!adds) return ids;
  NL_TRY(const auto runs, runs_of_baseline(ledger, name));
  ids.insert(runs.begin(), runs.end());
  return ids;
}

Result<void> set(Context& context, store::Ledger& ledger, const std::string& name, const json& parameters) {
  NL_TRY(auto ids, kept_runs(ledger, name, parameters.value("add", false)));
  NL_TRY(const auto runs, resolve_runs(context, ledger, parameters["run"]));
  for (const NamedRun& run : runs) {
    if (!ledger.has(run.run_id))
      return Error{ErrorCode::kNotFound,
                   "the run is not in the ledger: " + short_id(run.run_id),
                   "{} its profile first",
                   {{"import"}}};
    ids.insert(run.run_id);
  }
  NL_CHECK(ledger.change_state([&](store::State& state) {
    return set_baseline_runs(state, name, {ids.begin(), ids.end()}, act_of(context));
  }));
  for (const NamedRun& run : runs) NL_CHECK(ledger.keep(run.run_id));
  return {};
}

Result<void> remove(store::Ledger& ledger, const std::string& name) {
  return ledger.change_state([&](store::State& state) -> Result<void> {
    NL_TRY(const bool removed, remove_baseline_runs(state, name));
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
  if (parameters.contains("run")) return set(context, ledger, name, parameters);
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
    // Runs that are gone are still named: that is how one finds out.
    const auto found = runs_of_baseline(ledger, baseline.name);
    const std::vector<std::string> runs = found ? *found : std::vector{baseline.run_id};
    list.push_back({{"name", baseline.name},
                    {"run_id", baseline.run_id},
                    {"run_ids", runs},
                    {"set_at_ns", baseline.set.at_ns},
                    {"user", baseline.set.user}});
  }
  if (one && list.empty()) return no_such_baseline(name);
  Outcome outcome;
  outcome.next.push_back(
      list.empty()
          ? suggested("baseline", {{"name", "main"}, {"run", "@latest"}})
          : suggested("compare", {{"runs", {"@baseline:" + list[0]["name"].get<std::string>(), "NEW"}}}));
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
    const auto more = static_cast<int64_t>(one["run_ids"].size()) - 1;
    table.add({one["name"],
               short_id(one["run_id"]) + (more > 0 ? " and " + counted(more, "more run") : std::string()),
               time_text(one["set_at_ns"]), one["user"]});
  }
  return table.text("", true, style);
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "baseline",
      .summary = "Make a run, or the runs of a tag, the baseline: the reference for later comparisons",
      .use_when = "you want to set, pin, move or remove the reference or standard of a model or project",
      .not_when = "you only want to find it again: tag",
      .example = R"({"name": "main", "run": "@latest"})",
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

}  // namespace nl::ops::baseline_operation
