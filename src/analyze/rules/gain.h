#pragma once
// Gains: what a rule promised for a run, held against what a change brought in a later run, for one unit of
// work. A pair of runs gives one gain for each rule whose advice the change follows; the gains of many pairs
// give the verdict on a rule. Pure functions, any thread. Method: docs/analysis/gains.md.

#include <optional>
#include <string>
#include <vector>

#include "analyze/metrics/metric.h"
#include "analyze/rules/finding.h"
#include "base/described.h"
#include "base/known.h"

namespace nl::analyze {

enum class RuleVerdict {
  kUnproved,     ///< no pair of runs
  kHeld,         ///< its bound held, in fewer than five pairs
  kProved,       ///< its bound held in five pairs or more, and much of it was gained
  kTooGenerous,  ///< its bound held, but little of it was gained
  kWrong,        ///< more was gained than promised
};
/// Does any of its suggestions promise time?
bool promises_gain(const Rule& rule);

std::string_view rule_verdict_name(RuleVerdict verdict);

}  // namespace nl::analyze

namespace nl {

template <>
struct DescribedAs<analyze::RuleVerdict>
    : DescribedEnum<analyze::RuleVerdict, analyze::rule_verdict_name, 5> {};

}  // namespace nl

namespace nl::analyze {

/// One side of a pair: a device in a window, and how long a unit of work took there.
struct GainSide {
  const MetricSet& metrics;
  double unit_ns = 0;
};

struct Gain {
  std::string rule = {};
  int rule_version = 0;
  std::string device = {};
  double promised_ns = 0;
  std::optional<double> own_ns = {};
  double gained_ns = 0;
  double ratio = 0;
  bool held = false;
  bool covers_whole = false;
  std::optional<std::string> note = {};

  static constexpr auto fields() {
    using G = Gain;
    return std::tuple{
        field("rule", &G::rule, "rule that promised the gain"),
        field("rule_version", &G::rule_version, "of the rule"),
        field("device", &G::device, "device that it was promised for"),
        field("promised_ns", &G::promised_ns, "the rule's largest gain, for a unit of work"),
        field("own_ns", &G::own_ns,
              "how much shorter the time became that the rule is about; null if the later run cannot tell"),
        field("gained_ns", &G::gained_ns,
              "the smaller of own_ns and what the unit of work gained as a whole"),
        field("ratio", &G::ratio, "gained divided by promised"),
        field("held", &G::held, "promised_ns is at least gained_ns, or the low end of its interval"),
        field("covers_whole", &G::covers_whole,
              "the promise is also at least the gain of the whole unit of work: a stricter test, fair if "
              "nothing else was changed"),
        field("note", &G::note, "remark on this figure")};
  }
};

/// Of `before` and `after`, least_ns is the low end of the whole gain if repeats tell it. Absent if the
/// finding promises nothing. `suggestion` 0: any of the rule's.
Known<Gain> gain_of(const Rule& rule, const Finding& finding, int64_t suggestion, const GainSide& before,
                    const GainSide& after, std::optional<double> least_ns);

/// All gains of one rule.
struct RuleScore {
  std::string rule = {};
  int rule_version = 0;
  int64_t pairs = 0;
  int64_t held = 0;
  int64_t covers_whole = 0;
  std::optional<double> median_ratio = {};
  RuleVerdict verdict = RuleVerdict::kUnproved;

  static constexpr auto fields() {
    using S = RuleScore;
    return std::tuple{field("rule", &S::rule, "id of the rule"),
                      field("rule_version", &S::rule_version, "of the rule"),
                      field("pairs", &S::pairs, "pairs of runs in which it promised something"),
                      field("held", &S::held, "pairs in which the promise was at least as large as the gain"),
                      field("covers_whole", &S::covers_whole,
                            "pairs in which it was at least the gain of the whole unit of work"),
                      field("median_ratio", &S::median_ratio, "median of gained divided by promised"),
                      field("verdict", &S::verdict, "verdict on the rule")};
  }
};

inline constexpr int64_t kPairsForProof = 5;      ///< fewer are too few for a median
inline constexpr double kHeldShare = 0.95;        ///< below it a rule is wrong
inline constexpr double kLeastMedianRatio = 0.3;  ///< below it a bound promises too much to help

RuleVerdict verdict_on(int64_t pairs, int64_t held, std::optional<double> median_ratio);

/// One for each rule that has gains, by rule.
std::vector<RuleScore> rule_scores(const std::vector<Gain>& gains);

/// "held in 6 of 6 pairs, median 0.52 gained of promised", or unproved.
std::string proof_text(const RuleScore& score);

}  // namespace nl::analyze
