#pragma once
// Is a candidate as good as the good end of a history, or as slow as the bad one? Decided with as few runs as
// possible: values come in pairs (good, candidate), measured next to each other so that a drift of the
// machine does not count, and one looks after every pair.
//
// EndsMeasured knows what the two ends showed: that they differ, and, both only roughly, how large the change
// is and how much pairs vary. StepTest weighs, for the pairs of one candidate, "the whole change" against "no
// change": the ratio of their likelihoods, averaged over all sizes and spreads that the ends allow (weights
// from the ends' likelihood), and over a noise that has become louder since. Such a ratio exceeds 1 / error
// under the wrong hypothesis with a chance of at most `error`, however often one looks (Ville's inequality),
// so the test may stop at any pair. The noise of a pair is taken to be Student's t with 4 degrees: a value
// far out says nothing for either side, instead of deciding the step. With other noise the bound is no
// theorem; the simulations of docs/analysis/statistics.md hold it against normal, heavy-tailed, bimodal and
// drifting noise and outliers. Pure; one thread owns an object.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/described.h"
#include "base/result.h"

namespace nl::stats {

/// Two times measured next to each other. Both are finite and above 0.
struct TimePair {
  double good = 0;
  double candidate = 0;
  static constexpr auto fields() {
    return std::tuple{field("good", &TimePair::good, "time of the good end"),
                      field("candidate", &TimePair::candidate, "time of the candidate, measured next to it")};
  }
};

enum class StepDecision : uint8_t { kSlow, kAsGood, kUndecided };
inline constexpr size_t kStepDecisions = static_cast<size_t>(StepDecision::kUndecided) + 1;
/// As in JSON: slow, as_good, undecided.
std::string_view step_decision_name(StepDecision decision);

/// Pairs of the good end with the bad one, measured one after the other until they are enough().
class EndsMeasured {
 public:
  /// Fewer pairs say too little about how much pairs vary.
  static constexpr size_t kLeastPairs = 8;
  /// `error`: chance that ends are called different that do not differ. bad_input: too few pairs, or a time
  /// that is not finite and above 0.
  static Result<EndsMeasured> of(const std::vector<TimePair>& ends, double error);

  /// Typical ratio bad / good, from the pairs.
  double change() const { return change_; }
  /// How far pairs of the same thing typically are apart, as a share.
  double spread() const { return spread_; }
  /// The bad end is shown to be slower. By signs alone: in how many pairs is it? A bet on "more than half"
  /// that starts with 1 reaches 1 / error with a chance of at most `error` if the ends do not differ, at
  /// whatever pair one looks, and whatever the noise is like.
  bool is_slower() const { return is_slower_; }
  /// The same the other way.
  bool is_faster() const { return is_faster_; }
  /// Slower, and by an amount that is known well enough to tell a candidate's side with few pairs: the chance
  /// is at most `error` that the change is less than half as large.
  bool is_enough() const { return is_slower_ && is_clear_; }
  /// Pairs that a step takes on average with this error, as far as the ends tell: Wald's approximation for
  /// normal noise.
  double expected_pairs(double error) const;

 private:
  friend class StepTest;
  /// One size of the change and one spread that may be true, both of logarithms.
  struct Point {
    double change = 0;
    double spread = 0;
    double log_weight = 0;
  };
  EndsMeasured() = default;
  double chance_of_less_than_half() const;

  double change_ = 1;
  double spread_ = 0;
  bool is_slower_ = false;
  bool is_faster_ = false;
  bool is_clear_ = false;
  std::vector<Point> points_;
};

/// The pairs of one candidate. `ends` must outlive it.
class StepTest {
 public:
  /// One block of measurements in both orders is the least that is believed.
  static constexpr size_t kLeastPairs = 2;
  /// `error`: chance of a wrong decision.
  StepTest(const EndsMeasured& ends, double error);

  StepDecision add(const TimePair& pair);
  StepDecision decision() const;
  size_t pairs() const { return pairs_; }
  /// Natural logarithm of the likelihood ratio: above 0 for the whole change, below 0 for none.
  double evidence() const;

 private:
  const EndsMeasured& ends_;
  double bound_;  ///< of the evidence, on both sides
  size_t pairs_ = 0;
  std::vector<double> with_change_;     ///< log likelihood by point of the ends, for each loudness
  std::vector<double> without_change_;  ///< the same
};

}  // namespace nl::stats

template <>
struct nl::DescribedAs<nl::stats::StepDecision>
    : nl::DescribedEnum<nl::stats::StepDecision, nl::stats::step_decision_name, nl::stats::kStepDecisions> {};
