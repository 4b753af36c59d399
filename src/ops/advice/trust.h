#pragma once
// Whether conclusions may be drawn from a record: what was lost, what the capture cannot show, and what the
// profiler changed. Every reason comes from the run's own facts or from the analysis.

#include <string>
#include <vector>

#include "analyze/answer/analysis.h"
#include "base/json.h"
#include "ops/advice/time_parts.h"
#include "ops/runs/iteration_times.h"

namespace nl::ops {

/// kGood: use the figures as they are. kLimited: read the reasons first. kPoor: draw no conclusion.
enum class TrustLevel : uint8_t { kGood, kLimited, kPoor };
inline constexpr size_t kTrustLevels = 3;
std::string_view trust_level_name(TrustLevel level);

}  // namespace nl::ops

namespace nl {

template <>
struct DescribedAs<ops::TrustLevel>
    : DescribedEnum<ops::TrustLevel, ops::trust_level_name, ops::kTrustLevels> {};

}  // namespace nl

namespace nl::ops {

struct TrustReason {
  std::string id = {};
  TrustLevel level = TrustLevel::kLimited;
  std::string text = {};

  static constexpr auto fields() {
    using R = TrustReason;
    return std::tuple{field("id", &R::id, "which reason it is"),
                      field("level", &R::level, "how far the record can be trusted because of it"),
                      field("text", &R::text, "the reason, for people")};
  }
};

struct Trust {
  TrustLevel level = TrustLevel::kGood;
  std::vector<TrustReason> reasons = {};

  static constexpr auto fields() {
    using T = Trust;
    return std::tuple{
        field("level", &T::level,
              "good: use the figures; limited: read the reasons first; poor: draw no conclusion"),
        field("reasons", &T::reasons, "the worst first; empty if nothing speaks against it")};
  }
};

/// What the reasons come from.
struct TrustFacts {
  const nlohmann::json& document;  ///< run.json
  const analyze::Analysis& analysis;
  const TimeParts& parts;
  const std::optional<IterationTimes>& iterations;
  std::string claimed_by = {};  ///< name of a packed file whose profiles are not here; empty: none
};

Trust trust_of(const TrustFacts& facts);

}  // namespace nl::ops
