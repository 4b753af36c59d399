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
#include "report/device_label.h"

namespace nl::ops::triage_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["run"],
  "properties": {
    "run": {"x-run": true},
    "window": {"type": "string", "default": "steady",
               "description": "as of analyze"}
  }})";

constexpr size_t kMostActions = 3;
constexpr size_t kMostStatements = 3;
constexpr int64_t kNameBytes = 160;

struct TriagedWindow {
  std::string name = {};
  std::optional<int64_t> wall_ns = {};
  std::optional<std::string> why = {};

  static constexpr auto fields() {
    using W = TriagedWindow;
    return std::tuple{field("name", &W::name, "name of the window, as it was asked for"),
                      field("wall_ns", &W::wall_ns, "its length; null if the file has no time line"),
                      field("why", &W::why, "for the steady window: how it was chosen")};
  }
};

/// What the record states besides its sums: about a kernel with counters, layers of an engine, or ops.
struct Statement {
  std::string id = {};
  std::optional<std::string> about = {};
  std::string text = {};

  static constexpr auto fields() {
    using S = Statement;
    return std::tuple{field("id", &S::id, "which statement it is"),
                      field("about", &S::about, "the kernel, if it is about one"),
                      field("text", &S::text, "the statement, for people")};
  }
};

struct TriagedRun {
  std::string run_id = {};
  std::string sentence = {};
  std::optional<analyze::LimiterAnswer> limiter = {};
  std::optional<analyze::Remark> undecided = {};
  TriagedWindow window = {};
  int64_t devices = 0;
  TimeParts parts = {};
  Trust trust = {};
  std::vector<Action> actions = {};
  int64_t more_actions = 0;
  std::vector<Statement> statements = {};
  std::optional<RequestTimes> requests = {};
  SilentRules silent_rules = {};

  static constexpr auto fields() {
    using T = TriagedRun;
    return std::tuple{
        field("run_id", &T::run_id, "of the run"),
        field("sentence", &T::sentence, "what limits the run, or why the file cannot tell"),
        field("limiter", &T::limiter, "what takes most of the window; null if the file cannot tell"),
        field("undecided", &T::undecided,
              "why the capture does not tell what limits the run; null if it does"),
        field("window", &T::window, "the time that the figures describe"),
        field("devices", &T::devices,
              "devices with work, or the host of a run without any; 0 without a time line"),
        field("parts", &T::parts, "where the time went, in a few rows that add up"),
        field("trust", &T::trust, "whether conclusions may be drawn from the record"),
        field("actions", &T::actions, "what to do first; at most three"),
        field("more_actions", &T::more_actions, "further ones, which suggest lists"),
        field("statements", &T::statements, "what else the record states; at most three"),
        field("requests", &T::requests, "of a serving benchmark; null without requests"),
        field("silent_rules", &T::silent_rules, "rules that could not be asked")};
  }
};

/// The verdict, the trust and the first action stay longest.
constexpr Cut kCuts[] = {
    {"/window/why"},
    {"/requests"},
    {"/parts/rows/*/what", kNameBytes},
    {"/statements/*/about", kNameBytes},
    {"/actions/*/shared_with"},
    {"/statements", 1},
    {"/parts/rows", 4},
    {"/trust/reasons", 2},
    {"/actions", 2},
    {"/silent_rules/missing"},
    {"/statements"},
    {"/parts/rows", 2},
    {"/trust/reasons", 1},
    {"/actions", 1},
    {"/parts/rows"},
    {"/actions"},
    {"/trust/reasons"},
    {"/undecided", kKeepAll},
    {"/limiter", kKeepAll},
};

// ---- The answer

std::vector<Statement> statements_of(const analyze::Analysis& data) {
  std::vector<Statement> list;
  const auto is_of_trust = [](std::string_view id) {
    return id == "few_ops" || id == "slow_calls" || id == "device_not_recorded";
  };
  if (data.counters) {
    for (const analyze::KernelDiagnosis& one : data.counters->diagnosis)
      list.push_back({one.id, one.label, one.text});
  }
  for (const analyze::Remark& one : data.host_remarks) {
    if (!is_of_trust(one.id)) list.push_back({one.id, {}, one.text});
  }
  if (data.layers) {
    for (const analyze::Remark& one : data.layers->remarks) list.push_back({one.id, {}, one.text});
  }
  if (list.size() > kMostStatements) list.resize(kMostStatements);
  return list;
}

TriagedWindow window_of(const analyze::WindowAnswer& window) {
  TriagedWindow out{.name = window.name, .why = window.why};
  if (window.total_ns > 0) out.wall_ns = window.total_ns;
  return out;
}

void add_actions(TriagedRun& answer, std::vector<Action> actions) {
  const size_t kept = std::min(kMostActions, actions.size());
  answer.more_actions = static_cast<int64_t>(actions.size() - kept);
  actions.resize(kept);
  answer.actions = std::move(actions);
}

Result<TriagedRun> triaged(const Context& context, NamedAnalysis& done) {
  const analyze::Analysis& data = done.analysis.data;
  NL_TRY(const OtherRecords others, other_records(*done.open));
  TriagedRun answer{.run_id = done.named.run_id,
                    .undecided = data.undecided,
                    .window = window_of(data.window),
                    .devices = static_cast<int64_t>(data.devices.size()),
                    .parts = time_parts(data, others.sums),
                    .statements = statements_of(data),
                    .requests = others.requests,
                    .silent_rules = silent_rules(data, done.open->document()["sources"][0]["format"])};
  answer.sentence = verdict_sentence(data, answer.parts, others);
  if (const auto* limiter = verdict_of(data)) answer.limiter = *limiter;
  NL_TRY(std::string claimed_by, claimed_by_of(context, done.named));
  answer.trust =
      trust_of({done.open->document(), data, answer.parts, done.iterations, std::move(claimed_by)});
  add_actions(answer, actions_of(data));
  return answer;
}

Result<Outcome> run(Context& context, const json& parameters) {
  NL_TRY(auto done, analyze_named_run(context, parameters));
  NL_TRY(const TriagedRun answer, triaged(context, done));
  Outcome outcome = answered(answer);
  const std::string id = done.named.call_name(), window = parameters["window"];
  outcome.next.push_back(in_window(suggested("analyze", {{"run", id}}), window));
  if (answer.actions.empty()) {
    outcome.next.push_back(suggested("show", {{"run", id}}));
  } else {
    const std::string& rule = answer.actions.front().rule;
    outcome.next.push_back(in_window(suggested("suggest", {{"run", id}}), window));
    outcome.next.push_back(in_window(suggested("explain", {{"run", id}, {"finding", rule}}), window));
  }
  NL_CHECK(suggest_baseline(context, done.named, outcome));
  return outcome;
}

// ---- For people

constexpr double kLeastShown = 0.005;  // of the whole
constexpr size_t kMostRows = 6, kMostReasons = 3;
constexpr std::string_view kBelow = "     ";

std::string whole_words(const TimeParts& parts, bool has_several) {
  const std::string whole = duration_text(parts.whole_ns.value_or(0));
  switch (parts.of) {
    case WholeKind::kWindow:
      if (parts.mean_of_devices)
        return fmt::format("The window, {}, mean of {} devices", whole, *parts.mean_of_devices);
      return fmt::format("The window{}, {}",
                         has_several ? " on " + report::device_title(parts.rows[0].on) : "", whole);
    case WholeKind::kLayers:
      return "The layers, " + whole;
    case WholeKind::kReplays:
      return "The replayed launches, " + whole;
    case WholeKind::kSamples:
      return "The samples of the processors, " + whole;
    default:
      return "The sums of the profiler, " + whole;
  }
}

std::string parts_text(const TimeParts& parts, bool has_several, const TextStyle& style) {
  if (parts.rows.empty()) return "";
  using enum TextTable::Align;
  TextTable table({kRight, kRight, kLeft, kLeft});
  int64_t shown_ns = 0;
  size_t shown = 0;
  const auto width = static_cast<size_t>(std::max(style.width, 78) - 30);
  for (const TimePart& part : parts.rows) {
    if (shown == kMostRows || (shown > 0 && part.share < kLeastShown)) break;
    const std::string words = part.words.empty() ? part.what : part.what + ": " + part.words;
    table.add(
        {percent_text(part.share), duration_text(part.time_ns), bar(part.share, 6), shortened(words, width)});
    shown_ns += part.time_ns;
    shown++;
  }
  const int64_t rest = *parts.whole_ns - shown_ns;
  const double share = static_cast<double>(rest) / static_cast<double>(std::max<int64_t>(1, *parts.whole_ns));
  if (rest > 0)
    table.add({percent_text(share), duration_text(rest), "",
               counted(static_cast<int64_t>(parts.rows.size() - shown), "smaller part")});
  return "\n" + bold(whole_words(parts, has_several), style) + "\n" + table.text("  ", false, style);
}

std::string trust_text(const Trust& trust, const TextStyle& style) {
  std::string out = "\n" + bold("Trust: " + std::string(trust_level_name(trust.level)), style) + "\n";
  for (size_t i = 0; i < std::min(kMostReasons, trust.reasons.size()); i++)
    out += wrapped(trust.reasons[i].text, "  ", style.width);
  if (trust.reasons.empty()) out += "  nothing in the record speaks against its figures\n";
  if (trust.reasons.size() > kMostReasons)
    out += "  " +
           dim(counted(static_cast<int64_t>(trust.reasons.size() - kMostReasons), "more reason"), style) +
           "\n";
  return out;
}

std::string action_text(const Action& action, size_t number, bool has_several, const TextStyle& style) {
  std::string by = fmt::format("{}, {}", action.rule, action.gain_ns ? gain_words(action) : "gain not known");
  if (has_several) by += ", " + place_words(action);
  std::string out = fmt::format("  {}. {}\n", number,
                                listed({bold(action.title, style), dim(by, style)}, "  ", kBelow, style));
  out += wrapped(action.because, kBelow, style.width);
  return out + wrapped(action.what_to_do, kBelow, style.width);
}

std::string actions_text(const TriagedRun& answer, const TextStyle& style) {
  if (answer.actions.empty()) return "";
  std::string out = "\n" + bold("Do first", style) + "\n";
  for (size_t i = 0; i < answer.actions.size(); i++)
    out += action_text(answer.actions[i], i + 1, answer.devices > 1, style);
  if (answer.more_actions > 0)
    out += "  " + dim(counted(answer.more_actions, "further suggestion"), style) + "\n";
  return out;
}

std::string statements_text(const std::vector<Statement>& statements, const TextStyle& style) {
  if (statements.empty()) return "";
  std::string out = "\n" + bold("What the record states", style) + "\n";
  for (const Statement& one : statements)
    out += wrapped((one.about ? quoted_name(shortened(*one.about, 60)) + ": " : "") + one.text, "  ",
                   style.width);
  return out;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  const auto& answer = answer_of<TriagedRun>(outcome);
  std::string head = bold("run " + short_id(answer.run_id), style);
  if (answer.window.wall_ns)
    head += fmt::format("  window {}, {}", answer.window.name, duration_text(*answer.window.wall_ns));
  std::string out = head + "\n" + wrapped(answer.sentence, "  ", style.width);
  out += parts_text(answer.parts, answer.devices > 1, style) + trust_text(answer.trust, style) +
         actions_text(answer, style);
  if (answer.actions.size() < 2) out += statements_text(answer.statements, style);
  return out + silent_rules_text(answer.silent_rules, answer.actions.empty(), style);
}

std::string conclusion(const Outcome& outcome) {
  const auto& answer = answer_of<TriagedRun>(outcome);
  std::string out = fmt::format("{}; trust {}", answer.sentence, trust_level_name(answer.trust.level));
  if (!answer.actions.empty()) out += "; do first: " + answer.actions.front().what_to_do;
  return out;
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "triage",
      .summary = "Quick diagnosis of a run or profile file: what is wrong, can I trust it, what to fix first",
      .use_when =
          "you start an investigation with a new trace and want a quick check, a first look, the main "
          "problem or bottleneck, what limits it, why inference is slow, and the most important actions",
      .not_when = "you want all figures: analyze",
      .example = R"({"run": "@latest"})",
      .parameters = kParameters,
      .result = schema_text<TriagedRun>,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = true, .mcp = true},
      .cuts = kCuts,
      .run = run,
      .text = text,
      .conclusion = conclusion,
  };
  return kOperation;
}

}  // namespace nl::ops::triage_operation
