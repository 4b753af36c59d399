#include "ops/runs/gain_pairs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analyze/rules/rule_set.h"
#include "base/call_control.h"
#include "base/decimal.h"
#include "base/text.h"
#include "base/yaml.h"
#include "ops/runs/iteration_times.h"
#include "stats/judge.h"
#include "store/engine_pool.h"
#include "store/run_document.h"
#include "store/run_search.h"

namespace nl::ops {
namespace {

using analyze::DeviceFindings;
using analyze::Gain;
using analyze::Metric;

constexpr char kForm[] =
    "a file of pairs has pairs: [{before: [RUN], after: [RUN], applied: [RULE], name: TEXT, window: NAME}]";
constexpr int64_t kMostLabelled = 10'000;

Result<Applied> parse_applied(const std::string& text) {
  const size_t colon = text.find(':');
  Applied applied{text.substr(0, colon)};
  const bool has_number = colon != std::string::npos;
  const bool is_number =
      !has_number || (parse_int64(text.substr(colon + 1), applied.suggestion) && applied.suggestion >= 1);
  if (!applied.rule.empty() && is_number) return applied;
  return unlabelled(ErrorCode::kBadInput, "the label applied does not name a rule: " + text);
}

// ---- The file

class PairReader {
 public:
  explicit PairReader(const std::string& name) : name_(name) {}

  Result<std::vector<GainPair>> read(const YamlNode& root) const {
    const YamlNode* const list = root.is_map() ? root.find("pairs") : nullptr;
    if (list == nullptr || !list->is_list()) return fault(root.line, "pairs must be a list");
    std::vector<GainPair> pairs;
    for (const YamlNode& entry : list->items) {
      NL_TRY(GainPair pair, read_pair(entry));
      if (pair.name.empty()) pair.name = "pair " + std::to_string(pairs.size() + 1);
      pairs.push_back(std::move(pair));
    }
    return pairs;
  }

 private:
  Error fault(int line, const std::string& what) const { return yaml_error(name_, line, what, kForm); }

  Result<std::string> text_of(const YamlNode& node, const std::string& what) const {
    if (!node.is_text() || node.text.empty()) return fault(node.line, what + " must be a text");
    return node.text;
  }

  Result<std::vector<std::string>> texts_of(const YamlNode& node, const std::string& what) const {
    if (!node.is_list()) return fault(node.line, what + " must be a list");
    std::vector<std::string> texts;
    for (const YamlNode& item : node.items) {
      NL_TRY(std::string text, text_of(item, "an item of " + what));
      texts.push_back(std::move(text));
    }
    return texts;
  }

  Result<void> take(GainPair& pair, const YamlMember& member) const {
    const auto& [key, line, value] = member;
    if (key == "name" || key == "window") {
      NL_TRY((key == "name" ? pair.name : pair.window), text_of(value, key));
    } else if (key == "before" || key == "after") {
      NL_TRY((key == "before" ? pair.before : pair.after), texts_of(value, key));
    } else if (key == "applied") {
      NL_TRY(const auto rules, texts_of(value, key));
      for (const std::string& rule : rules) {
        NL_TRY(Applied applied, parse_applied(rule));
        pair.applied.push_back(std::move(applied));
      }
    } else {
      return fault(line, "unknown key: " + key.substr(0, 64));
    }
    return {};
  }

  Result<GainPair> read_pair(const YamlNode& entry) const {
    if (!entry.is_map()) return fault(entry.line, "a pair must be a mapping");
    GainPair pair;
    for (const YamlMember& member : entry.members) NL_CHECK(take(pair, member));
    if (pair.before.empty() || pair.after.empty()) return fault(entry.line, "a pair needs before and after");
    return pair;
  }

  const std::string& name_;
};

// ---- What was measured

/// One run of a side.
struct Reading {
  std::string run_id;
  std::vector<DeviceFindings> devices;
  std::optional<double> iteration_ns = {};  ///< median, without the profiler
  std::optional<double> batch = {};

  const DeviceFindings* find(const std::string& device) const {
    const auto at = std::find_if(devices.begin(), devices.end(),
                                 [&](const DeviceFindings& one) { return one.device == device; });
    return at == devices.end() ? nullptr : &*at;
  }
};

std::optional<double> unprofiled_ns(const std::optional<IterationTimes>& times) {
  if (!times) return std::nullopt;
  for (const PassTimes& pass : times->passes) {
    if (pass.pass == "unprofiled" && pass.figures) return static_cast<double>(pass.figures->median_ns);
  }
  return std::nullopt;
}

Result<std::optional<double>> batch_of(store::Ledger& ledger, const NamedRun& run) {
  NL_TRY(const auto document, store::shared_run_document(run.bundle + "/run.json"));
  NL_TRY(const auto labels, ledger.labels(run.run_id, *document));
  int64_t batch = 0;
  const bool is_known = parse_int64(store::counting_values(labels)["batch"], batch) && batch > 0;
  return is_known ? std::optional(static_cast<double>(batch)) : std::nullopt;
}

/// Labels name runs of the ledger; only a file may name profiles.
Result<NamedRun> resolve(Context& context, store::Ledger& ledger, const std::string& name, bool in_ledger) {
  return in_ledger ? resolve_ledger_run(context, ledger, name) : resolve_run(context, ledger, name);
}

Result<Reading> read_run(Context& context, store::Ledger& ledger, const std::string& name,
                         const GainPair& pair) {
  NL_CHECK(check_cancelled());
  NL_TRY(const auto run, resolve(context, ledger, name, pair.in_ledger));
  NL_TRY(const auto open, open_derived(run));
  analyze::AnalysisOptions options;
  options.window = pair.window;
  NL_TRY(auto analysis, analyze::analyze_run(open, options));
  Reading reading{run.run_id, std::move(analysis.devices)};
  NL_TRY(const auto times, iteration_times(*open));
  reading.iteration_ns = unprofiled_ns(times);
  NL_TRY(reading.batch, batch_of(ledger, run));
  return reading;
}

using Side = std::vector<Reading>;

Result<Side> read_side(Context& context, store::Ledger& ledger, const std::vector<std::string>& names,
                       const GainPair& pair) {
  Side side;
  for (const std::string& name : names) {
    NL_TRY(Reading reading, read_run(context, ledger, name, pair));
    side.push_back(std::move(reading));
  }
  return side;
}

// ---- The unit of work

enum class UnitKind { kIteration, kStep, kWindow };

/// How long the unit took on a device, for each run of a side.
class UnitTimes {
 public:
  UnitTimes(const Side& before, const Side& after, const std::string& device)
      : before_(before), after_(after), device_(device) {
    kind_ = all([](const Reading& run, const auto*) { return run.iteration_ns.has_value(); })
                ? UnitKind::kIteration
            : all([](const Reading&, const DeviceFindings* on) {
                return on != nullptr && on->metrics.get(Metric::step_median).has_value();
              })
                ? UnitKind::kStep
                : UnitKind::kWindow;
    by_item_ = all([](const Reading& run, const auto*) { return run.batch.has_value(); }) &&
               before.front().batch != after.front().batch;
  }

  bool on_both_sides() const {
    return all([](const Reading&, const DeviceFindings* on) { return on != nullptr; });
  }
  std::string name() const {
    if (by_item_) return "item";
    return kind_ == UnitKind::kIteration ? "iteration" : kind_ == UnitKind::kStep ? "step" : "window";
  }
  std::vector<double> of(const Side& side) const {
    std::vector<double> times;
    for (const Reading& run : side) times.push_back(of_run(run));
    return times;
  }
  double of_run(const Reading& run) const { return time_of(run) / (by_item_ ? *run.batch : 1); }

  /// The run in the middle stands for its side.
  const Reading& middle(const Side& side) const {
    std::vector<const Reading*> runs;
    for (const Reading& run : side) runs.push_back(&run);
    std::sort(runs.begin(), runs.end(), [&](const Reading* a, const Reading* b) {
      return std::pair(of_run(*a), a->run_id) < std::pair(of_run(*b), b->run_id);
    });
    return *runs[(runs.size() - 1) / 2];
  }

 private:
  template <class Holds>
  bool all(Holds holds) const {
    const auto on_side = [&](const Side& side) {
      return std::all_of(side.begin(), side.end(),
                         [&](const Reading& run) { return holds(run, run.find(device_)); });
    };
    return on_side(before_) && on_side(after_);
  }

  double time_of(const Reading& run) const {
    if (kind_ == UnitKind::kIteration) return *run.iteration_ns;
    const Metric metric = kind_ == UnitKind::kStep ? Metric::step_median : Metric::total_time;
    return run.find(device_)->metrics.get(metric).value_or(0);
  }

  const Side &before_, &after_;
  std::string device_;
  UnitKind kind_ = UnitKind::kWindow;
  bool by_item_ = false;
};

struct WholeGain {
  double before_ns = 0, after_ns = 0;
  std::optional<double> least_ns = {}, most_ns = {};
};

/// The interval is that of compare, from the ratio of the repeats.
Result<WholeGain> whole_gain(const UnitTimes& units, const Side& before, const Side& after) {
  const std::vector<double> was = units.of(before), is = units.of(after);
  WholeGain gain{stats::median(stats::sorted(was)), stats::median(stats::sorted(is))};
  NL_TRY(const auto judged, stats::judge({{"unit", {{"unit", was, is}}}}));
  const auto& interval = judged[0][0].ratio_interval;
  if (!interval || !std::isfinite(interval->low) || !std::isfinite(interval->high)) return gain;
  gain.least_ns = gain.before_ns * (1 - interval->high);
  gain.most_ns = gain.before_ns * (1 - interval->low);
  return gain;
}

// ---- The score

class PairScorer {
 public:
  PairScorer(const GainPair& pair, const Side& before, const Side& after, const analyze::RuleSet& rules)
      : pair_(pair), before_(before), after_(after), rules_(rules) {}

  Result<ScoredPair> score() {
    out_.name = pair_.name;
    for (const Reading& run : before_) out_.before.push_back(run.run_id);
    for (const Reading& run : after_) out_.after.push_back(run.run_id);
    for (const DeviceFindings& on : before_.front().devices) NL_CHECK(score_device(on.device));
    for (auto& [rule, gain] : gains_) out_.gains.push_back(std::move(gain));
    add_notes();
    return std::move(out_);
  }

 private:
  Result<void> score_device(const std::string& device) {
    const UnitTimes units(before_, after_, device);
    if (!units.on_both_sides()) {
      out_.notes.push_back("not all runs have the device " + device);
      return {};
    }
    NL_TRY(const WholeGain whole, whole_gain(units, before_, after_));
    if (out_.unit.empty()) set_whole(units.name(), whole);
    const Reading &was = units.middle(before_), &is = units.middle(after_);
    const analyze::GainSide before{was.find(device)->metrics, whole.before_ns};
    const analyze::GainSide after{is.find(device)->metrics, whole.after_ns};
    for (const analyze::Finding& finding : was.find(device)->evaluation.findings) {
      if (const auto suggestion = followed(finding.rule))
        take(device, analyze::gain_of(*rules_.find(finding.rule), finding, *suggestion, before, after,
                                      whole.least_ns));
    }
    return {};
  }

  void set_whole(const std::string& unit, const WholeGain& whole) {
    out_.unit = unit;
    out_.before_ns = whole.before_ns;
    out_.after_ns = whole.after_ns;
    out_.gained_ns = whole.before_ns - whole.after_ns;
    out_.least_ns = whole.least_ns;
    out_.most_ns = whole.most_ns;
  }

  /// The suggestion that was followed, 0 for any; nothing if the change has nothing to do with the rule.
  std::optional<int64_t> followed(const std::string& rule) const {
    if (rules_.find(rule) == nullptr) return std::nullopt;
    if (pair_.applied.empty()) return 0;
    for (const Applied& one : pair_.applied) {
      if (one.rule == rule) return one.suggestion;
    }
    return std::nullopt;
  }

  /// A rule counts once a pair, on the device for which it promised most. Of a change that is not known, only
  /// the rules whose own time it shortened, if the unit of work became shorter at all.
  void take(const std::string& device, Known<Gain> gain) {
    if (!gain) return;
    if (pair_.applied.empty() && gain->gained_ns <= 0) return;
    Gain one = *std::move(gain);
    one.device = device;
    const auto [at, is_new] = gains_.try_emplace(one.rule, one);
    if (!is_new && at->second.promised_ns < one.promised_ns) at->second = std::move(one);
  }

  void add_notes() {
    for (const Applied& one : pair_.applied) {
      if (!gains_.contains(one.rule)) out_.notes.push_back(one.rule + " promised nothing for the run before");
    }
    if (pair_.applied.size() > 1)
      out_.notes.push_back(
          "several suggestions were applied at once: each is compared with the time that it is about");
    if (pair_.applied.empty())
      out_.notes.push_back(
          "the change is not known: each rule is compared with the time that it is about, if that became "
          "shorter");
    if (out_.gained_ns.value_or(0) <= 0) out_.notes.push_back("nothing was gained");
  }

  const GainPair& pair_;
  const Side &before_, &after_;
  const analyze::RuleSet& rules_;
  ScoredPair out_;
  std::map<std::string, Gain> gains_;
};

Result<analyze::RuleSet> all_rules() {
  NL_TRY(const auto engine, store::EnginePool::shared().lease({}));
  NL_TRY(auto connection, engine->connect());
  return analyze::load_rules(connection, {});
}

Result<ScoredPair> score_pair(Context& context, store::Ledger& ledger, const GainPair& pair,
                              const analyze::RuleSet& rules) {
  NL_TRY(const Side before, read_side(context, ledger, pair.before, pair));
  NL_TRY(const Side after, read_side(context, ledger, pair.after, pair));
  return PairScorer(pair, before, after, rules).score();
}

void sum_up(GainScores& scores, const analyze::RuleSet& rules) {
  std::vector<Gain> gains;
  for (const ScoredPair& pair : scores.pairs) gains.insert(gains.end(), pair.gains.begin(), pair.gains.end());
  scores.rules = analyze::rule_scores(gains);
  std::set<std::string> scored;
  for (const analyze::RuleScore& one : scores.rules) {
    scores.promises += one.pairs;
    scores.held += one.held;
    scored.insert(one.rule);
  }
  for (const analyze::Rule& rule : rules.rules) {
    if (analyze::promises_gain(rule) && !scored.contains(rule.id)) scores.unproved.push_back(rule.id);
  }
}

}  // namespace

Error unlabelled(ErrorCode code, std::string message) {
  return Error{code,
               std::move(message),
               "{}",
               {suggested("label", {{"run", "RUN"}, {"labels", {"follows=EARLIER_RUN", "applied=RULE:1"}}})}};
}

Result<std::vector<Applied>> parse_all_applied(const std::string& text) {
  std::vector<Applied> all;
  for (const std::string& part : split(text, ',')) {
    NL_TRY(auto one, parse_applied(part));
    all.push_back(std::move(one));
  }
  return all;
}

Result<std::vector<GainPair>> read_gain_pairs(const std::string& text, const std::string& name) {
  NL_TRY(const YamlNode root, parse_yaml(text, name));
  return PairReader(name).read(root);
}

Result<std::vector<GainPair>> labelled_pairs(store::Ledger& ledger) {
  NL_TRY(auto search, store::RunSearch::start(ledger.index(), {}));
  NL_TRY(const auto rows, search.page({}, kMostLabelled, 0));
  std::map<std::pair<std::string, std::string>, GainPair> pairs;
  for (const store::RunRow& row : rows) {
    const auto follows = row.labels.find("follows"), applied = row.labels.find("applied");
    if (follows == row.labels.end() || applied == row.labels.end()) continue;
    GainPair& pair = pairs[{follows->second, applied->second}];
    pair.name = follows->second + ", " + applied->second;
    pair.before = split(follows->second, ',');
    pair.in_ledger = true;
    NL_TRY(pair.applied, parse_all_applied(applied->second));
    pair.after.push_back(row.run_id);
  }
  std::vector<GainPair> list;
  for (auto& [labels, pair] : pairs) {
    std::sort(pair.after.begin(), pair.after.end());
    list.push_back(std::move(pair));
  }
  return list;
}

Result<GainScores> score_pairs(Context& context, store::Ledger& ledger, const std::vector<GainPair>& pairs) {
  NL_TRY(const auto rules, all_rules());
  GainScores scores;
  for (const GainPair& pair : pairs) {
    auto scored = score_pair(context, ledger, pair, rules);
    NL_CHECK(check_cancelled());
    // A label may name a run that is gone; the other pairs still count.
    if (!scored && !pair.in_ledger) return scored.error();
    if (!scored) scored = ScoredPair{.name = pair.name, .notes = {scored.error().message}};
    scores.pairs.push_back(*std::move(scored));
  }
  sum_up(scores, rules);
  return scores;
}

}  // namespace nl::ops
