#pragma once
// The possible verdicts of comparing two sets of runs, and their names. They are defined once, here, so that
// every answer and report uses the same words.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/described.h"

namespace nl::stats {

enum class Verdict : uint8_t {
  kRegression,    ///< shown, and larger than matters
  kImprovement,   ///< the same the other way
  kNoChange,      ///< shown to be smaller than matters
  kInconclusive,  ///< the runs cannot tell
  kNotTested,     ///< nothing to test with
  kIncomparable,  ///< the two sides did different things
};
inline constexpr size_t kVerdicts = static_cast<size_t>(Verdict::kIncomparable) + 1;

/// As in JSON: regression, improvement, no_change, inconclusive, not_tested, incomparable.
std::string_view verdict_name(Verdict verdict);

}  // namespace nl::stats

template <>
struct nl::DescribedAs<nl::stats::Verdict>
    : nl::DescribedEnum<nl::stats::Verdict, nl::stats::verdict_name, nl::stats::kVerdicts> {};
