#include <fmt/core.h>

#include "base/path_text.h"
#include "ops/import/slice_run.h"
#include "ops/runs/named_analysis.h"
#include "ops/runs/named_window.h"
#include "ops/runs/run_labels.h"
#include "ops/runs/run_names.h"
#include "ops/runs/run_state.h"
#include "ops/text/text.h"

namespace nl::ops::slice_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["run"],
  "properties": {
    "run": {"x-run": true},
    "window": {"type": "string",
               "description": "what touches it: steady, whole, step:N (from 0), ns:BEGIN..END (times as in the tables), prefill, decode, decode_step, or an annotation, from the first to the last of that name"},
    "track": {"x-rare": true, "type": "array", "items": {"type": "integer", "minimum": 0},
              "description": "only these tracks, by track_id, with what launched their work; may be repeated"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["run_id", "parent", "created", "begin_ns", "end_ns", "rows"],
  "properties": {
    "run_id": {"type": "string"}, "parent": {"type": "string"}, "created": {"type": "boolean"},
    "begin_ns": {"type": "integer"}, "end_ns": {"type": "integer"},
    "rows": {"type": "object", "required": ["inside", "along", "left_out"],
             "description": "of the parent: in the slice, along with them since they explain them, not in the slice"}
  }})";

Result<SliceChoice> choice_of(const NamedRun& named, const json& parameters) {
  if (!parameters.contains("window") && !parameters.contains("track"))
    return Error{ErrorCode::kBadInput, "nothing to cut out",
                 "name a part of the run with --window or --track"};
  NL_TRY(const auto stretches, named_window(named, parameters.value("window", "whole")));
  return SliceChoice{stretches.front().begin, stretches.back().end,
                     parameters.value("track", std::vector<int64_t>())};
}

/// None if the facts of the run follow from profiles that were imported here.
Result<std::optional<store::Claim>> claim_of(const Context& context, store::Ledger& ledger,
                                             const NamedRun& named) {
  if (is_in_ledger(context, named)) return ledger.state().claim(named.run_id);
  return std::optional(store::Claim{base_name(named.path), "", act_of(context)});
}

Result<Outcome> run(Context& context, const json& parameters) {
  NL_TRY(const auto named, resolve_run(context, parameters["run"]));
  NL_TRY(const auto ledger, ledger_of(context, named));
  NL_TRY(SliceChoice choice, choice_of(named, parameters));
  NL_TRY(choice.claim, claim_of(context, *ledger, named));
  NL_TRY(const auto open, open_derived(named));
  NL_TRY(const auto slice, slice_run(context, *ledger, open, choice));
  Outcome outcome;
  outcome.data = {{"run_id", slice.report.run_id},
                  {"parent", named.run_id},
                  {"created", slice.report.created},
                  {"begin_ns", choice.begin_ns},
                  {"end_ns", choice.end_ns},
                  {"rows", {{"inside", slice.inside}, {"along", slice.along}, {"left_out", slice.left_out}}}};
  outcome.next.push_back(suggested("analyze", {{"run", short_id(slice.report.run_id)}, {"window", "whole"}}));
  outcome.next.push_back(suggested(
      "export", {{"run", short_id(slice.report.run_id)}, {"format", "nlz"}, {"output", "slice.nlz"}}));
  return outcome;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  const json& data = outcome.data;
  const json& rows = data["rows"];
  return fmt::format("{}  {} {} of {}\n  {} inside, {} along, {} left out\n",
                     bold(short_id(data["run_id"]), style),
                     data["created"].get<bool>() ? "a slice of" : "was there already: a slice of",
                     duration_text(data["end_ns"].get<int64_t>() - data["begin_ns"].get<int64_t>()),
                     short_id(data["parent"]), counted(rows["inside"], "row"), grouped(rows["along"]),
                     grouped(rows["left_out"]));
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "slice",
      .summary = "Cut a part out of a run as a smaller run: one step, a window, a phase, some streams",
      .use_when =
          "a trace is huge or too large and you want to extract, shrink, trim, keep, send or share only a "
          "piece or section of it",
      .not_when = "you only want figures: analyze",
      .example = R"({"run": "@latest", "window": "step:0"})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kWrite,
      .reach = {.cli = true, .http = true, .mcp = true},
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::slice_operation
