#pragma once
// Rules that could not be asked, and what to record so that they can be.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/answer/analysis.h"
#include "ops/operation.h"

namespace nl::ops {

/// One reason why rules abstained.
struct MissingFact {
  std::string reason = {};
  std::vector<std::string> rules = {};
  std::string record = {};

  static constexpr auto fields() {
    using M = MissingFact;
    return std::tuple{field("reason", &M::reason, "why the rules could not be asked"),
                      field("rules", &M::rules, "these rules, by id"),
                      field("record", &M::record, "what to record, so that they can be asked")};
  }
};

struct SilentRules {
  std::optional<int64_t> count = {};
  std::optional<std::string> reason = {};
  std::vector<MissingFact> missing = {};

  static constexpr auto fields() {
    using S = SilentRules;
    return std::tuple{
        field("count", &S::count,
              "rules that could not be asked about any device; null if no rule was asked at all"),
        field("reason", &S::reason, "the reason that matters most; null if every rule was asked"),
        field("missing", &S::missing, "reasons that another capture would change, the most rules first")};
  }
};

/// `format`: of the source, which decides what its profiler can record.
SilentRules silent_rules(const analyze::Analysis& analysis, const std::string& format);

/// A line or two; with `all`, what to record for each reason.
std::string silent_rules_text(const SilentRules& rules, bool all, const TextStyle& style);

}  // namespace nl::ops
