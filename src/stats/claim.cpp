#include "stats/claim.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "stats/effect.h"
#include "stats/rank_test.h"
#include "stats/runs_needed.h"
#include "stats/sample.h"

namespace nl::stats {
namespace {

constexpr double kGrowth = 1.4;  // from look to look: more looks cost error, fewer cost runs

/// A tail comes back from a coverage with the last digits lost.
constexpr double kRounding = 1e-9;

bool are_times(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), is_time);
}

Result<void> check(const ClaimOptions& options) {
  if (options.expected > 0 && std::isfinite(options.expected) && options.error > 0 && options.error < 0.5)
    return {};
  return Error{ErrorCode::kBadInput, "an expected speed-up is above 0, and its error between 0 and 0.5"};
}

Result<void> check(const std::vector<double>& base, const std::vector<double>& variant) {
  if (base.empty() || variant.empty()) return Error{ErrorCode::kBadInput, "a claim needs runs on both sides"};
  if (are_times(base) && are_times(variant)) return {};
  return Error{ErrorCode::kBadInput, "a time is not finite, or not above zero"};
}

ClaimVerdict verdict_of(const Claim& claim) {
  if (claim.low && *claim.low >= claim.expected) return ClaimVerdict::kMet;
  if (claim.high && *claim.high < claim.expected) return ClaimVerdict::kNotMet;
  return ClaimVerdict::kInconclusive;
}

/// Runs a side that would probably decide if the speed-up is what it now seems to be.
std::optional<int64_t> runs_needed(const Claim& claim, const std::vector<double>& base,
                                   const std::vector<double>& variant, double tail) {
  const auto spread = log_spread(base, variant);
  if (!spread) return std::nullopt;
  const double gap = std::abs(natural_log(claim.speedup) - natural_log(claim.expected));
  const auto needed = runs_by_spread(*spread, gap, tail);
  if (!needed) return std::nullopt;
  return std::max({*needed, runs_to_reach(2 * tail), claim.n + 1});
}

Claim looked_at(const std::vector<double>& base, const std::vector<double>& variant, double expected,
                double tail) {
  const Ratio ratio = typical_ratio(sorted(variant), sorted(base), 1 - 2 * tail);
  Claim claim;
  claim.expected = expected;
  claim.speedup = ratio.value;
  claim.n = static_cast<int64_t>(std::min(base.size(), variant.size()));
  if (ratio.interval) {
    claim.low = ratio.interval->low;
    claim.high = ratio.interval->high;
    claim.coverage = ratio.interval->coverage;
  }
  claim.verdict = verdict_of(claim);
  return claim;
}

/// What the rank test can use of `allowed` with so many runs a side.
double usable(int64_t runs, double allowed) {
  const auto n = static_cast<size_t>(runs);
  if (n * n > kExactPairs) return allowed;
  const RankDistribution distribution(n, n);
  const size_t cut = distribution.cut(allowed);
  return cut == 0 ? 0 : distribution.at_most(cut - 1) * (1 + kRounding);
}

std::vector<int64_t> sizes_of_looks(int64_t first, int64_t most) {
  std::vector<int64_t> sizes;
  for (int64_t n = first; n < most;
       n = std::max<int64_t>(n + 1, std::llround(static_cast<double>(n) * kGrowth)))
    sizes.push_back(n);
  sizes.push_back(most);
  return sizes;
}

}  // namespace

std::string_view claim_verdict_name(ClaimVerdict verdict) {
  static constexpr std::array<std::string_view, kClaimVerdicts> kNames = {"met", "not_met", "inconclusive"};
  return kNames[static_cast<size_t>(verdict)];
}

Result<Claim> judge_claim(const std::vector<double>& base, const std::vector<double>& variant,
                          const ClaimOptions& options) {
  NL_CHECK(check(options));
  NL_CHECK(check(base, variant));
  Claim claim = looked_at(base, variant, options.expected, options.error);
  if (claim.verdict != ClaimVerdict::kInconclusive) return claim;
  if (const auto needed = runs_needed(claim, base, variant, options.error))
    claim.more_runs = *needed - claim.n;
  return claim;
}

Result<ClaimPlan> ClaimPlan::make(const ClaimOptions& options, int64_t first, int64_t most) {
  NL_CHECK(check(options));
  if (first < 2 || most < first || most > kMostRuns)
    return Error{ErrorCode::kBadInput, "looks begin at 2 runs a side or more and end at 1000 at most"};
  std::vector<Look> looks;
  double spent = 0;
  for (const int64_t runs : sizes_of_looks(first, most)) {
    const double may_be_spent = options.error * static_cast<double>(runs) / static_cast<double>(most);
    const double tail = usable(runs, may_be_spent - spent);
    if (tail <= 0) continue;
    spent += tail;
    looks.push_back({runs, tail});
  }
  if (looks.empty())
    return Error{ErrorCode::kBadInput,
                 "so few runs never give a verdict: " + std::to_string(most) + " a side",
                 "allow more runs, or a larger error"};
  return ClaimPlan(options, std::move(looks));
}

std::optional<int64_t> ClaimPlan::next_look(int64_t runs) const {
  for (const Look& look : looks_) {
    if (look.runs > runs) return look.runs;
  }
  return std::nullopt;
}

Result<Claim> ClaimPlan::judge(const std::vector<double>& base, const std::vector<double>& variant) const {
  NL_CHECK(check(base, variant));
  const auto runs = static_cast<int64_t>(std::min(base.size(), variant.size()));
  const auto look = std::find_if(looks_.begin(), looks_.end(), [&](const Look& l) { return l.runs == runs; });
  if (look == looks_.end())
    return Error{ErrorCode::kBadInput,
                 "the plan has no look at so many runs a side: " + std::to_string(runs)};
  Claim claim = looked_at(base, variant, options_.expected, look->tail);
  if (claim.verdict != ClaimVerdict::kInconclusive) return claim;
  const auto needed = runs_needed(claim, base, variant, look->tail);
  const auto next = needed ? next_look(*needed - 1) : std::nullopt;
  if (next) claim.more_runs = *next - claim.n;
  return claim;
}

}  // namespace nl::stats
