#pragma once
// Comparability: may the times of two runs be compared at all? This is decided before any verdict. Each
// factor is one thing that must be equal, with what both sides say about it; the score is the product of the
// factors. Unknown counts neither as equal nor as different: it lowers the score a little and is named.

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "compare/changes.h"

namespace nl::compare {

/// What a run says of itself, as far as it matters here.
struct RunFacts {
  std::string run_id;
  nlohmann::json document;                    ///< run.json
  std::map<std::string, std::string> labels;  ///< the values that count
  std::vector<std::string> files = {};        ///< names of its profiles, without folders
};

inline constexpr double kComparabilityFloor = 0.5;

struct Comparability {
  std::vector<Factor> factors;
  std::vector<std::string> remarks = {};  ///< what a comparison of these two cannot carry, in words
  double score() const;
  bool is_enough() const { return score() >= kComparabilityFloor; }
  /// Something about the two makes any comparison of times wrong, in whichever mode.
  bool is_refused() const { return score() == 0; }
  /// Factors that take the score down, the heaviest first, in words.
  std::vector<std::string> reasons() const;
};

/// Another backend of one model on one device is no mode of its own: its times compare.
Mode mode_between(const RunFacts& base, const RunFacts& next);

/// Both runs say which model they ran, and say the same; no other label of the workload differs.
bool is_one_model(const RunFacts& base, const RunFacts& next);

/// Names of the devices that did something, or their makers where only these tell the runs apart. Empty: a
/// source names none, so the device is not known.
Both<std::string> devices_of(const RunFacts& base, const RunFacts& next);

/// As far as the runs themselves tell: also whether two repeats are of one kind.
Comparability comparability(const RunFacts& base, const RunFacts& next);
/// With what their windows hold.
Comparability comparability(const RunFacts& base, const RunFacts& next, const Side& base_side,
                            const Side& next_side, const Changes& changes);

/// A label, a version or the devices, where the two runs say other things; "?" where one says nothing.
struct FactDifference {
  std::string key, base, next;
  /// driver: 550.54 → 580.95
  std::string text() const { return key + ": " + base + " → " + next; }
};
/// By key, those that the base has first.
std::vector<FactDifference> differences(const RunFacts& base, const RunFacts& next);

ComparabilityScore score_of(Comparability comparability);

}  // namespace nl::compare
