#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "analyze/rules/prediction.h"
#include "ops/runs/named_analysis.h"
#include "ops/runs/run_names.h"
#include "ops/text/text.h"
#include "store/ledger.h"
#include "store/run_document.h"

namespace nl::ops {
namespace {

using analyze::MetricSet;
using nlohmann::json;
using store::Prediction;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false,
  "properties": {
    "run": {"type": "string", "x-positional": 1, "x-run": true,
            "description": "run id, tag, @latest, @baseline:NAME, bundle folder or profile; none: all runs with predictions"},
    "score": {"type": "boolean",
              "description": "RUN followed another one with a suggestion taken (labels follows=RUN applied=RULE[:N]): hold the gain that was predicted against the one measured"}
  }})";

constexpr char kResult[] = R"({
  "type": "object",
  "properties": {
    "runs": {"type": "array", "items": {"type": "object", "required": ["run_id", "predictions"],
      "properties": {"predictions": {"type": "array", "items": {"type": "object",
        "required": ["rule", "rule_version", "suggestion", "window", "device", "at_stake_ns", "gain_ns", "at_most",
                     "window_ns", "made_at_ns", "user"]}}}}},
    "run_id": {"type": "string"}, "follows": {"type": "string"},
    "scores": {"type": "array", "items": {"type": "object",
      "required": ["prediction", "basis", "predicted_ns", "measured_ns", "ratio", "relative_error", "not_resolvable"]}}}})";

/// How a run says what it followed.
Error unlabelled(ErrorCode code, std::string message) {
  return Error{code,
               std::move(message),
               "{}",
               {suggested("label", {{"run", "RUN"}, {"labels", {"follows=EARLIER_RUN", "applied=RULE:1"}}})}};
}

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
Result<void> find_now(Context& context, store::Ledger& ledger, const NamedRun& named) {
  NL_CHECK(ledger.may_write());
  NL_TRY(const auto analysis, analyze_named(named, {}));
  return keep_predictions(context, ledger, named, analysis);
}

Result<Outcome> list_predictions(Context& context, store::Ledger& ledger, const std::string& run) {
  std::vector<std::string> ids, warnings;
  if (run.empty()) {
    NL_TRY(ids, ledger.state().predicted_runs());
  } else {
    NL_TRY(const auto named, resolve_ledger_run(context, ledger, run));
    if (const auto fine = find_now(context, ledger, named); !fine) warnings.push_back(fine.error().message);
    ids.push_back(named.run_id);
  }
  Outcome outcome;
  outcome.warnings = std::move(warnings);
  outcome.data = {{"runs", json::array()}};
  for (const auto& id : ids) {
    NL_TRY(json one, predictions_json(ledger, id));
    outcome.data["runs"].push_back(std::move(one));
  }
  return outcome;
}

// ---- Score

/// What the label `applied` names: a rule, and one of its suggestions or any (0).
struct Applied {
  std::string rule;
  int64_t suggestion = 0;
};

Result<Applied> parse_applied(const std::string& text) {
  const size_t colon = text.find(':');
  Applied applied{text.substr(0, colon)};
  if (colon == std::string::npos && !applied.rule.empty()) return applied;
  const std::string number = colon == std::string::npos ? "" : text.substr(colon + 1);
  const char* end = number.data() + number.size();
  const auto [stop, fault] = std::from_chars(number.data(), end, applied.suggestion);
  if (applied.rule.empty() || fault != std::errc() || stop != end || applied.suggestion < 1) {
    return unlabelled(ErrorCode::kBadInput, "the label applied names no rule: " + text);
  }
  return applied;
}

/// rule:1,other_rule
Result<std::vector<Applied>> parse_all_applied(const std::string& text) {
  std::vector<Applied> all;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    NL_TRY(auto one, parse_applied(text.substr(begin, end - begin)));
    all.push_back(std::move(one));
    begin = end + 1;
  }
  return all;
}

Result<std::string> label_of(store::Ledger& ledger, const NamedRun& run, const std::string& key) {
  NL_TRY(const auto document, store::read_run_document(run.bundle + "/run.json"));
  NL_TRY(const auto labels, ledger.labels(run.run_id, document));
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
  if (name.empty())
    return Error{ErrorCode::kBadInput,
                 "--score needs a run",
                 "{}",
                 {suggested("findings", {{"score", true}, {"run", "RUN"}})}};
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
        "several suggestions were taken at once: the measured gain is that of all of them");
  }
  return outcome;
}

Result<Outcome> run(Context& context, const json& parameters) {
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  const std::string name = parameters.value("run", "");
  if (parameters.value("score", false)) return score(context, ledger, name);
  return list_predictions(context, ledger, name);
}

// ---- Text for people

std::string suggestion_name(const json& prediction) {
  return fmt::format("{}:{}", prediction["rule"].get<std::string>(), prediction["suggestion"].get<int64_t>());
}

std::string gain_text(const json& prediction) {
  if (prediction["gain_ns"].is_null()) return "unknown";
  return (prediction["at_most"].get<bool>() ? "<= " : "") + duration_text(prediction["gain_ns"]);
}

std::string list_text(const json& data, const TextStyle& style) {
  std::string out;
  using enum TextTable::Align;
  for (const auto& run : data["runs"]) {
    out += bold("run " + short_id(run["run_id"]), style) + "\n";
    if (run["predictions"].empty()) out += "  no predictions\n";
    if (run["predictions"].empty()) continue;
    TextTable table({kLeft, kRight, kRight, kLeft, kLeft, kLeft});
    table.add({"suggestion", "gain", "at stake", "window", "device", "made"});
    for (const auto& one : run["predictions"]) {
      table.add({suggestion_name(one), gain_text(one), duration_text(one["at_stake_ns"]), one["window"],
                 one["device"], time_text(one["made_at_ns"])});
    }
    out += table.text("  ", true, style);
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

std::string text(const Outcome& outcome, const TextStyle& style) {
  return outcome.data.contains("scores") ? score_text(outcome.data, style) : list_text(outcome.data, style);
}

}  // namespace

const Operation& operation_findings() {
  static constexpr Operation kOperation{
      .name = "findings",
      .summary = "Keep what the findings of a run promise, and score it against a later run",
      .use_when =
          "you will take a suggestion and want to know afterwards whether it gained what was promised",
      .not_when = "you want the findings with their evidence: analyze",
      .example = R"({"score": true, "run": "@latest"})",
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
