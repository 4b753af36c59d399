#pragma once
// Pairs of runs before and after a change, and what the rules promised of it: read from a YAML file or from
// the labels `follows` and `applied` of the ledger's runs, then scored (analyze/rules/gain.h).
//
//   pairs:
//     - name: four workers load the data        as you like
//       before: [RUN, ...]                       ids, tags or profiles; several are repeats
//       after: [RUN, ...]
//       applied: [data_loading]                  rules whose advice was followed, RULE or RULE:SUGGESTION;
//                                                none: not known
//       window: steady                           may be left out

#include <optional>
#include <string>
#include <vector>

#include "analyze/rules/gain.h"
#include "ops/runs/named_analysis.h"

namespace nl::ops {

/// A rule, and one of its suggestions or any (0).
struct Applied {
  std::string rule = {};
  int64_t suggestion = 0;
};
/// rule:1,other_rule
Result<std::vector<Applied>> parse_all_applied(const std::string& text);

/// How a run says what it followed.
Error unlabelled(ErrorCode code, std::string message);

struct GainPair {
  std::string name = {};
  std::vector<std::string> before = {}, after = {};
  std::vector<Applied> applied = {};
  std::string window = "steady";
  bool in_ledger = false;  ///< it comes from labels
};

struct ScoredPair {
  std::string name = {};
  std::vector<std::string> before = {}, after = {};
  std::string unit = {};
  std::optional<double> before_ns = {}, after_ns = {}, gained_ns = {}, least_ns = {}, most_ns = {};
  std::vector<analyze::Gain> gains = {};
  std::vector<std::string> notes = {};

  static constexpr auto fields() {
    using P = ScoredPair;
    return std::tuple{
        field("name", &P::name, "of the pair"),
        field("before", &P::before, "run ids"),
        field("after", &P::after, "run ids"),
        field("unit", &P::unit,
              "unit of work: iteration (without the profiler), step, window, or item (an iteration or step "
              "divided by its batch size)"),
        field("before_ns", &P::before_ns, "median time of the unit before"),
        field("after_ns", &P::after_ns, "median time of the unit after"),
        field("gained_ns", &P::gained_ns, "the difference"),
        field("least_ns", &P::least_ns, "low end of its interval; null without enough repeats"),
        field("most_ns", &P::most_ns, "high end of it"),
        field("gains", &P::gains, "one for each rule that promised something and whose advice was followed"),
        field("notes", &P::notes, "remarks on the pair")};
  }
};

struct GainScores {
  std::vector<ScoredPair> pairs = {};
  std::vector<analyze::RuleScore> rules = {};
  int64_t promises = 0;
  int64_t held = 0;
  std::vector<std::string> unproved = {};

  static constexpr auto fields() {
    using S = GainScores;
    return std::tuple{
        field("pairs", &S::pairs, "in the order given"),
        field("rules", &S::rules, "rules that promised something, by id"),
        field("promises", &S::promises, "promises compared with a measured gain, over all pairs"),
        field("held", &S::held, "promises that were at least as large as the gain"),
        field("unproved", &S::unproved, "rules that promise gains and have no pair here, by id")};
  }
};

Result<std::vector<GainPair>> read_gain_pairs(const std::string& text, const std::string& name);

/// Of all runs of the ledger with the labels `follows` and `applied`; runs with equal labels are repeats.
Result<std::vector<GainPair>> labelled_pairs(store::Ledger& ledger);

Result<GainScores> score_pairs(Context& context, store::Ledger& ledger, const std::vector<GainPair>& pairs);

}  // namespace nl::ops
