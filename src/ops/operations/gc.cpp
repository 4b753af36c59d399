#include <fmt/core.h>

#include <algorithm>

#include "base/call_control.h"
#include "ops/runs/run_labels.h"
#include "ops/text/text.h"
#include "store/cache_folder.h"
#include "store/ledger.h"

namespace nl::ops::gc_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false,
  "properties": {
    "reindex": {"type": "boolean", "description": "rebuild the index from the bundles"},
    "retain_days": {"type": "integer", "minimum": 1, "maximum": 36500,
                    "description": "delete runs that were imported longer ago and have no tag, no note and are no baseline"},
    "dry_run": {"type": "boolean", "description": "with --retain-days: only say which runs would be deleted"},
    "drop_on_the_way": {"type": "boolean", "description": "also delete runs that were imported only because another command was given their file"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["stale_stagings", "dropped_runs", "indexed_runs", "unreadable"],
  "properties": {"stale_stagings": {"type": "integer"}, "dropped_runs": {"type": "integer"},
    "cached_runs": {"type": "integer", "description": "removed from the cache: what nobody asked for lately"},
    "retired": {"type": "array", "items": {"type": "string"}, "description": "deleted by --retain-days"},
    "dry_run": {"type": "boolean", "description": "the retired ones are still there"},
    "indexed_runs": {"type": ["integer", "null"]}, "unreadable": {"type": "array", "items": {"type": "string"}}}})";

constexpr int64_t kDayNs = 86'400'000'000'000;

/// Somebody cares for the run: it has a tag, a note, or is a baseline.
Result<bool> is_kept(store::State& state, const std::string& run_id,
                     const std::vector<store::Baseline>& baselines) {
  const bool is_baseline = std::any_of(baselines.begin(), baselines.end(),
                                       [&](const store::Baseline& one) { return one.run_id == run_id; });
  if (is_baseline) return true;
  NL_TRY(const auto tags, state.tags(run_id));
  NL_TRY(const auto notes, state.notes(run_id));
  return !tags.empty() || !notes.empty();
}

Result<std::vector<std::string>> outdated_runs(store::Ledger& ledger, int64_t days) {
  NL_TRY(const auto baselines, ledger.state().baselines());
  NL_TRY(const int64_t count, ledger.count());
  NL_TRY(const auto rows, ledger.list(count, 0));
  std::vector<std::string> ids;
  for (const auto& row : rows) {
    if (store::unix_now_ns() - row.imported_at_ns <= days * kDayNs) continue;
    NL_TRY(const bool keeps, is_kept(ledger.state(), row.run_id, baselines));
    if (!keeps) ids.push_back(row.run_id);
  }
  return ids;
}

/// Deletes runs that are older than that and that nobody cares for; their ids. A run in use stays until the
/// next time.
Result<json> retire(const Context& context, store::Ledger& ledger, int64_t days, bool only_says) {
  NL_TRY(const auto ids, outdated_runs(ledger, days));
  json retired = json::array();
  for (const auto& id : ids) {
    NL_CHECK(check_cancelled());
    const std::string reason = fmt::format("older than {} days, without tag, note or baseline", days);
    const auto deleted =
        only_says ? Result<void>() : ledger.delete_run(id, reason, act_of(context), store::Patience::kNone);
    if (!deleted && deleted.error().code == ErrorCode::kConflict) continue;
    NL_CHECK(deleted);
    retired.push_back(id);
  }
  return retired;
}

Result<Outcome> run(Context& context, const json& parameters) {
  const bool reindexes = parameters.value("reindex", false);
  const bool drops = parameters.value("drop_on_the_way", false);
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder, !reindexes || drops));
  NL_TRY(const auto garbage, ledger.collect_garbage(drops));
  const int64_t cached = store::tidy_cache(*context.environment, store::kDaysOfCache);
  Outcome outcome;
  outcome.data = {{"stale_stagings", garbage.stale_stagings},
                  {"dropped_runs", garbage.dropped_runs},
                  {"cached_runs", cached},
                  {"retired", json::array()},
                  {"dry_run", parameters.value("dry_run", false)},
                  {"indexed_runs", nullptr},
                  {"unreadable", json::array()}};
  if (parameters.contains("retain_days")) {
    NL_TRY(outcome.data["retired"],
           retire(context, ledger, parameters["retain_days"], outcome.data["dry_run"]));
  }
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
  if (d["cached_runs"] != 0) out += counted(d["cached_runs"], "run") + " removed from the cache\n";
  if (!d["retired"].empty())
    out +=
        counted(static_cast<int64_t>(d["retired"].size()), "run") +
        (d["dry_run"].get<bool>() ? " would be deleted\n" : " deleted: too old, and nobody cares for them\n");
  if (d["dropped_runs"] != 0) out += counted(d["dropped_runs"], "run") + " dropped\n";
  if (!d["indexed_runs"].is_null()) out += counted(d["indexed_runs"], "run") + " indexed\n";
  return out;
}

}  // namespace

const Operation& operation() {
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

}  // namespace nl::ops::gc_operation
