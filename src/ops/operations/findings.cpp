#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "analyze/rules/prediction.h"
#include "base/files.h"
#include "ops/runs/gain_pairs.h"
#include "ops/runs/named_analysis.h"
#include "ops/runs/page_calls.h"
#include "ops/runs/run_names.h"
#include "ops/screen/findings_text.h"
#include "ops/text/text.h"
#include "store/ledger.h"
#include "store/run_document.h"

namespace nl::ops::findings_operation {
namespace {

using analyze::MetricSet;
using nlohmann::json;
using store::Prediction;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false,
  "properties": {
    "run": {"type": "string", "x-positional": 1, "x-run": true,
            "description": "as of other tools; without it: all runs with predictions"},
    "score": {"type": "boolean",
              "description": "compare the predicted with the measured gain of RUN, which has the labels follows=EARLIER applied=RULE[:N]; without RUN: of all such runs"},
    "pairs": {"x-rare": true, "type": "string", "x-host-path": true,
              "description": "with --score: pairs of runs before and after a change, from this YAML file instead of labels"}
  }})";

constexpr char kResult[] = R"({
  "type": "object",
  "properties": {
    "findings": {"type": "array", "description": "if a run is named: those of analyze, most time at stake first",
      "items": {"type": "object", "required": ["rule", "title", "at_stake_ns", "evidence", "suggestions"]}},
    "runs": {"type": "array", "items": {"type": "object", "required": ["run_id", "predictions"],
      "properties": {"predictions": {"type": "array", "items": {"type": "object",
        "required": ["rule", "rule_version", "suggestion", "window", "device", "at_stake_ns", "gain_ns", "at_most",
                     "window_ns", "made_at_ns", "user"]}}}}},
    "run_id": {"type": "string"}, "follows": {"type": "string"},
    "pairs": {"type": "array", "items": {"type": "object", "required": ["name", "before", "after", "unit", "gained_ns", "gains", "notes"]}},
    "rules": {"type": "array", "items": {"type": "object",
      "required": ["rule", "rule_version", "pairs", "held", "covers_whole", "median_ratio", "verdict"],
      "properties": {"verdict": {"enum": ["unproved", "held", "proved", "too_generous", "wrong"]}}}},
    "promises": {"type": "integer"}, "held": {"type": "integer"},
    "unproved": {"type": "array", "items": {"type": "string"}},
    "scores": {"type": "array", "items": {"type": "object",
      "required": ["prediction", "basis", "predicted_ns", "measured_ns", "ratio", "relative_error", "not_resolvable"]}}}})";

/// Texts stay longer than promises, the largest longest.
constexpr Cut kCuts[] = {
    {"/findings/*/references"},
    {"/runs/*/predictions", 5},
    {"/scores", 5},
    {"/pairs/*/notes"},
    {"/unproved"},
    {"/pairs", 5},
    {"/rules", 5},
    {"/runs", 5},
    {"/findings/*/evidence", 1},
    {"/findings/*/suggestions", 1},
    {"/runs/*/predictions"},
    {"/runs", 1},
    {"/findings", 1},
    {"/findings"},
    {"/runs"},
    {"/scores"},
    {"/pairs"},
    {"/rules"},
};

json prediction_json(const Prediction& p) {
  return {{"rule", p.rule},
          {"rule_version", p.rule_version},
          {"suggestion", p.suggestion},
          {"window", p.window},
          {"device", p.device},
          {"at_stake_ns", p.at_stake_ns},
          {"gain_ns", p.gain_ns ? json(*p.gain_ns) : json(nullptr)},
          {"at_most", p.at_most},
          {"window_ns", p.window_ns},
          {"made_at_ns", p.made.at_ns},
          {"user", p.made.user}};
}

// ---- List

Result<json> predictions_json(store::Ledger& ledger, const std::string& run_id) {
  NL_TRY(const auto predictions, ledger.state().predictions(run_id));
  json list = json::array();
  for (const auto& one : predictions) list.push_back(prediction_json(one));
  return json{{"run_id", run_id}, {"predictions", std::move(list)}};
}

/// What the rules say today joins what was said before.
Result<analyze::Analysis> find_now(Context& context, store::Ledger& ledger, const NamedRun& named) {
  NL_CHECK(ledger.may_write());
  NL_TRY(const auto open, open_derived(named));
  NL_TRY(auto analysis, analyze::analyze_run(open, {}));
  NL_CHECK(keep_predictions(context, ledger, named, analysis));
  return std::move(analysis.data);
}

/// Of all runs that have some.
Result<Outcome> list_predictions(store::Ledger& ledger) {
  Outcome outcome;
  outcome.data = {{"runs", json::array()}};
  NL_TRY(const auto ids, ledger.state().predicted_runs());
  for (const auto& id : ids) {
    NL_TRY(json one, predictions_json(ledger, id));
    outcome.data["runs"].push_back(std::move(one));
  }
  return outcome;
}

/// What was found in one run, and what that promises.
Result<Outcome> list_findings(Context& context, store::Ledger& ledger, const std::string& run) {
  NL_TRY(const auto named, resolve_ledger_run(context, ledger, run));
  auto found = find_now(context, ledger, named);
  NL_CHECK(check_cancelled());
  NL_TRY(json one, predictions_json(ledger, named.run_id));
  Outcome outcome;
  outcome.data = {{"runs", json::array({std::move(one)})}};
  if (found) {
    outcome.data["findings"] = to_json_tree(found->findings);
    outcome.answer = std::move(*found);
  } else {
    outcome.warnings.push_back(found.error().message);
  }
  suggest_pages(outcome, named);
  return outcome;
}

// ---- Score

Result<std::string> label_of(store::Ledger& ledger, const NamedRun& run, const std::string& key) {
  NL_TRY(const auto document, store::shared_run_document(run.bundle + "/run.json"));
  NL_TRY(const auto labels, ledger.labels(run.run_id, *document));
  for (const auto& label : labels) {
    if (label.key == key) return label.effective().value;
  }
  return unlabelled(ErrorCode::kNotFound, "run " + short_id(run.run_id) + " has no label " + key);
}

bool matches(const Prediction& prediction, const std::vector<Applied>& applied) {
  return std::any_of(applied.begin(), applied.end(), [&](const Applied& one) {
    return one.rule == prediction.rule && (one.suggestion == 0 || one.suggestion == prediction.suggestion);
  });
}

/// Metrics of one run by window and device, computed once.
class RunMetrics {
 public:
  explicit RunMetrics(NamedRun run) : run_(std::move(run)) {}

  const Known<MetricSet>& of(const Prediction& prediction) {
    const auto key = std::pair(prediction.window, prediction.device);
    const auto it = known_.find(key);
    if (it != known_.end()) return it->second;
    auto metrics = metrics_of_run(run_, prediction.window, prediction.device);
    if (metrics) return known_.emplace(key, std::move(*metrics)).first->second;
    const std::string reason = "run " + short_id(run_.run_id) + ": " + metrics.error().message;
    return known_.emplace(key, Absent{reason}).first->second;
  }

 private:
  NamedRun run_;
  std::map<std::pair<std::string, std::string>, Known<MetricSet>> known_;
};

json scores_json(const NamedRun& earlier, const NamedRun& run, const std::vector<Prediction>& predictions) {
  RunMetrics before(earlier);
  RunMetrics after(run);
  json scores = json::array();
  for (const auto& prediction : predictions) {
    json one =
        analyze::to_json(analyze::score_prediction(prediction, before.of(prediction), after.of(prediction)));
    one["prediction"] = prediction_json(prediction);
    scores.push_back(std::move(one));
  }
  return scores;
}

Result<std::vector<Prediction>> applied_predictions(store::Ledger& ledger, const NamedRun& earlier,
                                                    const std::vector<Applied>& applied,
                                                    const std::string& said) {
  NL_TRY(auto predictions, ledger.state().predictions(earlier.run_id));
  std::erase_if(predictions, [&](const Prediction& one) { return !matches(one, applied); });
  if (!predictions.empty()) return predictions;
  return Error{ErrorCode::kNotFound,
               fmt::format("nothing was predicted for run {} by: {}", short_id(earlier.run_id), said),
               "{} lists its predictions",
               {suggested("findings", {{"run", short_id(earlier.run_id)}})}};
}

Result<Outcome> score(Context& context, store::Ledger& ledger, const std::string& name) {
  NL_TRY(const auto run, resolve_ledger_run(context, ledger, name));
  NL_TRY(const std::string follows, label_of(ledger, run, "follows"));
  NL_TRY(const std::string said, label_of(ledger, run, "applied"));
  NL_TRY(const auto applied, parse_all_applied(said));
  NL_TRY(const auto earlier, resolve_ledger_run(context, ledger, follows));
  if (earlier.run_id == run.run_id) {
    return unlabelled(ErrorCode::kBadInput, "the run follows itself: " + short_id(run.run_id));
  }
  NL_TRY(const auto predictions, applied_predictions(ledger, earlier, applied, said));
  Outcome outcome;
  outcome.data = {{"run_id", run.run_id},
                  {"follows", earlier.run_id},
                  {"scores", scores_json(earlier, run, predictions)}};
  if (applied.size() > 1) {
    outcome.warnings.push_back(
        "several suggestions were applied at once: the measured gain is that of all of them together");
  }
  return outcome;
}

// ---- Score of the rules

constexpr int64_t kMaxPairsBytes = 1 << 20;

Result<std::vector<GainPair>> pairs_of(store::Ledger& ledger, const json& parameters) {
  if (!parameters.contains("pairs")) return labelled_pairs(ledger);
  const std::string path = parameters["pairs"];
  NL_TRY(const std::string text, read_small_file(path, kMaxPairsBytes));
  return read_gain_pairs(text, path);
}

Result<Outcome> score_rules(Context& context, store::Ledger& ledger, const json& parameters) {
  NL_TRY(const auto pairs, pairs_of(ledger, parameters));
  NL_TRY(const GainScores scores, score_pairs(context, ledger, pairs));
  Outcome outcome;
  outcome.data = to_json_tree(scores);
  if (pairs.empty())
    outcome.next.push_back(
        suggested("label", {{"run", "RUN"}, {"labels", {"follows=EARLIER_RUN", "applied=RULE:1"}}}));
  return outcome;
}

Result<Outcome> run(Context& context, const json& parameters) {
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  const std::string name = parameters.value("run", "");
  const bool has_pairs = parameters.contains("pairs"), is_score = parameters.value("score", false);
  if (has_pairs && (!is_score || !name.empty()))
    return Error{ErrorCode::kBadInput,
                 "--pairs needs --score and takes no run",
                 "{}",
                 {suggested("findings", {{"score", true}, {"pairs", "FILE"}})}};
  if (is_score && name.empty()) return score_rules(context, ledger, parameters);
  if (is_score) return score(context, ledger, name);
  return name.empty() ? list_predictions(ledger) : list_findings(context, ledger, name);
}

// ---- Text for people

std::string suggestion_name(const json& prediction) {
  return fmt::format("{}:{}", prediction["rule"].get<std::string>(), prediction["suggestion"].get<int64_t>());
}

std::string gain_text(const json& prediction) {
  if (prediction["gain_ns"].is_null()) return "unknown";
  return (prediction["at_most"].get<bool>() ? "<= " : "") + duration_text(prediction["gain_ns"]);
}

std::string predictions_text(const json& predictions, const TextStyle& style) {
  if (predictions.empty()) return "  no predictions\n";
  using enum TextTable::Align;
  TextTable table({kLeft, kRight, kRight, kLeft, kLeft, kLeft});
  table.add({"suggestion", "gain", "at stake", "window", "device", "made"});
  for (const auto& one : predictions) {
    table.add({suggestion_name(one), gain_text(one), duration_text(one["at_stake_ns"]), one["window"],
               one["device"], time_text(one["made_at_ns"])});
  }
  return table.text("  ", true, style);
}

std::string list_text(const Outcome& outcome, const TextStyle& style) {
  std::string out;
  for (const auto& run : outcome.data["runs"]) {
    out += bold("run " + short_id(run["run_id"]), style) + "\n";
    if (outcome.answer.has_value()) {
      out += findings_text(answer_of<analyze::Analysis>(outcome), style);
      if (run["predictions"].empty()) continue;
      out += "\n" + bold("What they promise (kept for findings --score)", style) + "\n";
    }
    out += predictions_text(run["predictions"], style);
  }
  return out.empty() ? "There are no predictions.\n" : out;
}

std::string ns_text(const json& ns) {
  return ns.is_null() ? "-" : duration_text(static_cast<int64_t>(ns.get<double>()));
}

std::string score_text(const json& data, const TextStyle& style) {
  std::string out = fmt::format("{} follows {}\n", bold("run " + short_id(data["run_id"]), style),
                                short_id(data["follows"]));
  using enum TextTable::Align;
  TextTable table({kLeft, kLeft, kLeft, kRight, kRight, kLeft});
  table.add({"suggestion", "window", "device", "predicted", "measured", "measured / predicted"});
  for (const auto& one : data["scores"]) {
    const auto& prediction = one["prediction"];
    const std::string verdict = one["not_resolvable"].is_null()
                                    ? fmt::format("{:.2f}", one["ratio"].get<double>())
                                    : "not resolvable: " + one["not_resolvable"].get<std::string>();
    table.add({suggestion_name(prediction), prediction["window"], prediction["device"],
               (prediction["at_most"].get<bool>() ? "<= " : "") + ns_text(one["predicted_ns"]),
               ns_text(one["measured_ns"]), verdict});
  }
  return out + table.text("  ", true, style);
}

std::string pair_text(const json& pair) {
  if (pair["gained_ns"].is_null()) return "";
  const std::string unit = pair["unit"];
  std::string text = fmt::format("{} to {} {} {}", ns_text(pair["before_ns"]), ns_text(pair["after_ns"]),
                                 unit.starts_with('i') ? "an" : "a", unit);
  if (!pair["least_ns"].is_null())
    text += fmt::format(", gained {} to {}", ns_text(pair["least_ns"]), ns_text(pair["most_ns"]));
  return text;
}

std::string pairs_text(const json& data, const TextStyle& style) {
  using enum TextTable::Align;
  TextTable table({kLeft, kRight, kRight, kRight, kLeft, kLeft});
  table.add({"rule", "promised", "gained", "ratio", "held", "covers the whole gain"});
  std::string out;
  for (const auto& pair : data["pairs"]) {
    out += fmt::format("{}  {}\n", bold(pair["name"].get<std::string>(), style), pair_text(pair));
    TextTable rows = table;
    for (const auto& gain : pair["gains"]) {
      rows.add({gain["rule"], ns_text(gain["promised_ns"]), ns_text(gain["gained_ns"]),
                fmt::format("{:.2f}", gain["ratio"].get<double>()), gain["held"].get<bool>() ? "yes" : "no",
                gain["covers_whole"].get<bool>() ? "yes" : "no"});
    }
    if (!pair["gains"].empty()) out += rows.text("  ", true, style);
    for (const auto& note : pair["notes"]) out += "  " + dim(note.get<std::string>(), style) + "\n";
  }
  return out;
}

std::string verdict_text(const json& rule) {
  std::string verdict = rule["verdict"];
  std::replace(verdict.begin(), verdict.end(), '_', ' ');
  return verdict == "held" ? "held so far; too few pairs for a proof" : verdict;
}

std::string rules_text(const json& data, const TextStyle& style) {
  if (data["pairs"].empty())
    return "No run of the ledger has the label follows, which names the run before a change.\n";
  using enum TextTable::Align;
  TextTable table({kLeft, kRight, kRight, kRight, kRight, kLeft});
  table.add({"rule", "pairs", "held", "covers whole", "median gained / promised", "verdict"});
  for (const auto& rule : data["rules"]) {
    table.add({rule["rule"], std::to_string(rule["pairs"].get<int64_t>()),
               std::to_string(rule["held"].get<int64_t>()),
               std::to_string(rule["covers_whole"].get<int64_t>()),
               fmt::format("{:.2f}", rule["median_ratio"].get<double>()), verdict_text(rule)});
  }
  return fmt::format(
      "{}\n{}\n{} of {} promises held; {} rules that promise gains have no pair here: unproved\n",
      pairs_text(data, style), table.text("", true, style), data["held"].get<int64_t>(),
      data["promises"].get<int64_t>(), data["unproved"].size());
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  if (outcome.data.contains("pairs")) return rules_text(outcome.data, style);
  return outcome.data.contains("scores") ? score_text(outcome.data, style) : list_text(outcome, style);
}

/// Of a run that was named, or of all pairs; lists of promises have no single one.
std::string conclusion(const Outcome& outcome) {
  if (outcome.data.contains("promises") && outcome.data["promises"] != 0)
    return fmt::format("{} of {} promises held", outcome.data["held"].get<int64_t>(),
                       outcome.data["promises"].get<int64_t>());
  if (!outcome.data.contains("findings")) return "";
  const json& found = outcome.data.at("findings");
  if (found.empty()) return "no rule found anything to improve";
  return fmt::format("{} finding{}; most time is at stake in: {}", found.size(), found.size() == 1 ? "" : "s",
                     found[0].at("title").get<std::string>());
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "findings",
      .summary =
          "List all problems found in a run; check whether a change brought the gain that was predicted",
      .use_when =
          "you want every issue, or applied a suggestion, recommendation or advice and ask whether it really "
          "brought, saved or gained what was promised, how good or accurate predictions were",
      .not_when = "you want to know what to do: suggest",
      .example = R"({"score": true, "run": "@latest"})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kWrite,
      .reach = {.cli = true, .http = true, .mcp = true},
      .cuts = kCuts,
      .run = run,
      .text = text,
      .conclusion = conclusion,
  };
  return kOperation;
}

}  // namespace nl::ops::findings_operation
