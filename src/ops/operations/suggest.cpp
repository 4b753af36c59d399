#include <fmt/core.h>

#include <algorithm>

#include "ops/advice/actions.h"
#include "ops/advice/gaps_of_capture.h"
#include "ops/advice/next_calls.h"
#include "ops/advice/time_parts.h"
#include "ops/advice/trust.h"
#include "ops/advice/verdict.h"
#include "ops/runs/named_analysis.h"
#include "ops/text/text.h"

namespace nl::ops::suggest_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["run"],
  "properties": {
    "run": {"x-run": true},
    "window": {"type": "string", "default": "steady",
               "description": "as of analyze"},
    "top": {"type": "integer", "minimum": 1, "maximum": 100, "default": 5, "description": "suggestions to list"}
  }})";

struct VerifyCall {
  std::string operation = {};
  json parameters = json::object();

  static constexpr auto fields() {
    using C = VerifyCall;
    return std::tuple{
        field("operation", &C::operation,
              "name of the operation; one that writes may not be offered to the caller"),
        field("parameters", &C::parameters, "its parameters; words in capitals are yours to fill in")};
  }
};

struct HowToVerify {
  std::string text = {};
  std::vector<VerifyCall> calls = {};

  static constexpr auto fields() {
    using V = HowToVerify;
    return std::tuple{field("text", &V::text, "how to find out whether it helped"),
                      field("calls", &V::calls, "the same as calls, in this order")};
  }
};

struct Suggested {
  Action action = {};
  std::vector<analyze::FindingSuggestion> instead = {};
  HowToVerify verify = {};

  static constexpr auto fields() {
    using S = Suggested;
    return std::tuple{merged(&S::action),
                      field("instead", &S::instead, "other suggestions of the rule, for the same time"),
                      field("verify", &S::verify, "how to check it afterwards")};
  }
};

struct SuggestedRun {
  std::string run_id = {};
  std::string window = {};
  std::optional<int64_t> wall_ns = {};
  int64_t devices = 0;
  std::vector<Suggested> suggestions = {};
  int64_t not_shown = 0;
  std::optional<std::string> none_because = {};
  TrustLevel trust = TrustLevel::kGood;
  SilentRules silent_rules = {};

  static constexpr auto fields() {
    using S = SuggestedRun;
    return std::tuple{
        field("run_id", &S::run_id, "of the run"),
        field("window", &S::window, "name of the window"),
        field("wall_ns", &S::wall_ns, "length of the window; null if the file has no time line"),
        field(
            "suggestions", &S::suggestions,
            "what to try, the largest gain first; gains of one device do not overlap, so they may be added"),
        field("not_shown", &S::not_shown, "suggestions that are left out, see top"),
        field("none_because", &S::none_because, "why there is no suggestion; null if there are some"),
        field("trust", &S::trust, "how far the record can be trusted; triage has the reasons"),
        field("silent_rules", &S::silent_rules,
              "rules that could not be asked, and what to record for them")};
  }
};

/// What to do and what it brings stay longest.
constexpr Cut kCuts[] = {
    {"/suggestions/*/shared_with"},
    {"/suggestions/*/instead"},
    {"/silent_rules/missing/*/rules"},
    {"/suggestions", 3},
    {"/suggestions/*/verify/calls"},
    {"/silent_rules/missing", 1},
    {"/suggestions", 2},
    {"/silent_rules/missing"},
    {"/suggestions", 1},
    {"/suggestions"},
};

// ---- The answer

/// Of a window without a promise that is kept: compared there, unless it is cut at times of this run.
HowToVerify verify_of(const Action& action, const std::string& run, const std::string& window) {
  const bool is_kept = window == kUsualWindow;
  const std::string applied = fmt::format("{}:{}", action.rule, action.suggestion);
  HowToVerify verify;
  verify.text = fmt::format(
      "{} this one change, record again in the same way, import it with the labels follows={} applied={}, "
      "then compare the two runs{}.",
      is_kept ? fmt::format("Keep the promise (findings {}), make", run) : "Make", run, applied,
      is_kept ? " and score the promise" : "");
  json compare = {{"runs", {run, "NEW_RUN"}}};
  if (!is_kept && !window.starts_with("ns:")) compare["window"] = window;
  if (is_kept) verify.calls.push_back({"findings", {{"run", run}}});
  verify.calls.push_back(
      {"import", {{"paths", {"NEW_PROFILE"}}, {"set", {"follows=" + run, "applied=" + applied}}}});
  verify.calls.push_back({"compare", std::move(compare)});
  if (is_kept) verify.calls.push_back({"findings", {{"run", "NEW_RUN"}, {"score", true}}});
  return verify;
}

std::vector<analyze::FindingSuggestion> others_of(const Action& action, const analyze::Analysis& data) {
  for (const auto& [finding, on] : data.findings) {
    if (finding.rule != action.rule || !(on == action.on)) continue;
    std::vector<analyze::FindingSuggestion> others = finding.suggestions;
    std::erase_if(others, [&](const auto& one) { return one.suggestion == action.suggestion; });
    return others;
  }
  return {};
}

std::string why_none(const analyze::Analysis& data, const SilentRules& silent) {
  if (!data.findings.empty())
    return "rules fire, but none of their suggestions fits the device; analyze lists them";
  if (data.undecided) return "the capture cannot tell what limits the run: " + data.undecided->text;
  if (data.devices.empty() && data.counters && !data.counters->diagnosis.empty())
    return "rules need a time line; triage says what holds the kernels with counters back";
  if (!silent.count) return silent.reason.value_or("no rule was asked");
  if (*silent.count == 0) return "every rule was asked, and none found anything to improve";
  return fmt::format("no rule found anything to improve; {} could not be asked",
                     counted(*silent.count, "rule"));
}

Result<SuggestedRun> suggested_run(const Context& context, NamedAnalysis& done, const std::string& window,
                                   size_t top) {
  const analyze::Analysis& data = done.analysis.data;
  NL_TRY(const OtherRecords others, other_records(*done.open));
  NL_TRY(std::string claimed_by, claimed_by_of(context, done.named));
  SuggestedRun answer{.run_id = done.named.run_id,
                      .window = data.window.name,
                      .devices = static_cast<int64_t>(data.devices.size()),
                      .silent_rules = silent_rules(data, done.open->document()["sources"][0]["format"])};
  if (data.window.total_ns > 0) answer.wall_ns = data.window.total_ns;
  const TimeParts parts = time_parts(data, others.sums);
  answer.trust = trust_of({done.open->document(), data, parts, done.iterations, std::move(claimed_by)}).level;
  std::vector<Action> actions = actions_of(data);
  if (actions.empty()) answer.none_because = why_none(data, answer.silent_rules);
  answer.not_shown = static_cast<int64_t>(actions.size() - std::min(top, actions.size()));
  actions.resize(std::min(top, actions.size()));
  const std::string run = done.named.call_name();
  for (Action& action : actions) {
    auto instead = others_of(action, data);
    HowToVerify verify = verify_of(action, run, window);
    answer.suggestions.push_back({std::move(action), std::move(instead), std::move(verify)});
  }
  return answer;
}

Result<Outcome> run(Context& context, const json& parameters) {
  NL_TRY(auto done,
         analyze_named_run(context, {{"run", parameters["run"]}, {"window", parameters["window"]}}));
  const std::string window = parameters["window"];
  NL_TRY(const SuggestedRun answer, suggested_run(context, done, window, parameters["top"]));
  Outcome outcome = answered(answer);
  const std::string id = done.named.call_name();
  if (answer.suggestions.empty()) {
    const bool is_silent = done.analysis.data.findings.empty();
    outcome.next.push_back(in_window(suggested(is_silent ? "triage" : "analyze", {{"run", id}}), window));
    return outcome;
  }
  const Action& first = answer.suggestions.front().action;
  outcome.next.push_back(in_window(suggested("explain", {{"run", id}, {"finding", first.rule}}), window));
  outcome.next.push_back(window == kUsualWindow ? suggested("findings", {{"run", id}})
                                                : in_window(suggested("analyze", {{"run", id}}), window));
  return outcome;
}

// ---- For people

constexpr std::string_view kBelow = "     ";

std::string row_text(const Action& action, size_t number, bool has_several, const TextStyle& style) {
  std::string by = fmt::format(
      "{}:{}, {} confidence, {}", action.rule, action.suggestion, analyze::confidence_name(action.confidence),
      action.proof == "unproved" ? "unproved" : "promises of this rule " + action.proof);
  if (has_several) by += ", " + place_words(action);
  std::string out = fmt::format("  {}. {}\n", number, bold(action.title, style));
  out += wrapped(action.what_to_do, kBelow, style.width);
  out += wrapped(gain_words(action), kBelow, style.width);
  return out + wrapped(by, kBelow, style.width);
}

std::string rows_text(const SuggestedRun& answer, const TextStyle& style) {
  std::string out = "\n" + bold("What to try, the largest gain first", style) + "\n";
  for (size_t i = 0; i < answer.suggestions.size(); i++)
    out += row_text(answer.suggestions[i].action, i + 1, answer.devices > 1, style);
  if (answer.not_shown > 0) out += "  " + dim(counted(answer.not_shown, "more suggestion"), style) + "\n";
  return out + "\n" + bold("How to check the first one", style) + "\n" +
         wrapped(answer.suggestions.front().verify.text, "  ", style.width);
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  const auto& answer = answer_of<SuggestedRun>(outcome);
  std::string out = bold("run " + short_id(answer.run_id), style);
  if (answer.wall_ns) out += fmt::format("  window {}, {}", answer.window, duration_text(*answer.wall_ns));
  out += fmt::format("  trust {}\n", trust_level_name(answer.trust));
  if (!answer.suggestions.empty()) return out + rows_text(answer, style);
  out += wrapped("Nothing to suggest: " + answer.none_because.value_or(""), "  ", style.width);
  return answer.silent_rules.count ? out + silent_rules_text(answer.silent_rules, true, style) : out;
}

std::string conclusion(const Outcome& outcome) {
  const auto& answer = answer_of<SuggestedRun>(outcome);
  if (answer.suggestions.empty()) return "nothing to suggest: " + answer.none_because.value_or("");
  const Action& first = answer.suggestions.front().action;
  return fmt::format("try first ({}): {}", gain_words(first), first.what_to_do);
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "suggest",
      .summary =
          "What to try next to make a run faster: recommendations by the gain they promise, with its upper "
          "bound",
      .use_when =
          "you want advice how to optimise, speed up, improve, tune or reduce something, ask which "
          "optimisation or change is worth most or pays off, what to fix, how much time it could save at "
          "best (potential, headroom, expected speedup), and how to verify, test or prove it",
      .not_when = "you want what was found: findings",
      .example = R"({"run": "@latest"})",
      .parameters = kParameters,
      .result = schema_text<SuggestedRun>,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = true, .mcp = true},
      .cuts = kCuts,
      .run = run,
      .text = text,
      .conclusion = conclusion,
  };
  return kOperation;
}

}  // namespace nl::ops::suggest_operation
