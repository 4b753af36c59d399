#include <fmt/core.h>

#include "ops/text/text.h"
#include "store/cache_folder.h"
#include "store/ledger.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false,
  "properties": {
    "reindex": {"type": "boolean", "description": "rebuild the index from the bundles"},
    "drop_on_the_way": {"type": "boolean", "description": "also delete runs that were imported only because another command was given their file"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["stale_stagings", "dropped_runs", "indexed_runs", "unreadable"],
  "properties": {"stale_stagings": {"type": "integer"}, "dropped_runs": {"type": "integer"},
    "indexed_runs": {"type": ["integer", "null"]}, "unreadable": {"type": "array", "items": {"type": "string"}}}})";

// What was derived from bundles outside of the ledger is kept that long.
constexpr int kDaysOfCache = 30;

Result<Outcome> run(Context& context, const json& parameters) {
  const bool reindexes = parameters.value("reindex", false);
  const bool drops = parameters.value("drop_on_the_way", false);
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder, !reindexes || drops));
  NL_TRY(const auto garbage, ledger.collect_garbage(drops));
  store::remove_old_derived(*context.environment, kDaysOfCache);
  Outcome outcome;
  outcome.data = {{"stale_stagings", garbage.stale_stagings},
                  {"dropped_runs", garbage.dropped_runs},
                  {"indexed_runs", nullptr},
                  {"unreadable", json::array()}};
  if (reindexes) {
    NL_TRY(const auto report, ledger.reindex());
    outcome.data["indexed_runs"] = report.indexed_runs;
    outcome.data["unreadable"] = report.unreadable;
    for (const auto& name : report.unreadable) {
      outcome.warnings.push_back("left out, because its run.json is missing or not valid: " +
                                 ledger.run_folder(name));
    }
  }
  outcome.next.push_back(suggested("runs"));
  return outcome;
}

std::string text(const Outcome& outcome, const TextStyle&) {
  const auto& d = outcome.data;
  std::string out = counted(d["stale_stagings"], "left-over") + " of killed imports removed\n";
  if (d["dropped_runs"] != 0) out += counted(d["dropped_runs"], "run") + " dropped\n";
  if (!d["indexed_runs"].is_null()) out += counted(d["indexed_runs"], "run") + " indexed\n";
  return out;
}

}  // namespace

const Operation& operation_gc() {
  static constexpr Operation kOperation{
      .name = "gc",
      .summary = "Clean up the ledger; rebuild its index",
      .use_when = "an import was killed, the index was lost, or the disk is getting full",
      .not_when = "you want to delete a run that you imported by name",
      .example = R"({"reindex": true})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kWrite,
      .reach = {.cli = true, .http = false, .mcp = false},
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops
