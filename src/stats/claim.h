#pragma once
// Is a promised speed-up kept? One value is one process run; the speed-up is the typical ratio base / variant
// (Hodges-Lehmann) with the interval that the rank test gives, as `compare` has it, so outliers and skew are
// borne and nothing is assumed about the distribution of the noise.
//
// What the verdicts mean, and why so:
//   met          the whole interval lies at or above the expectation: "at least 1.05 times as fast" is a
//                claim about the lower end. A variant that is exactly 1.05 times as fast is therefore seldom
//                called met. That is the price of the guarantee: of all variants that are slower than
//                expected, at most `error` (2 %) are ever called met, whatever the noise is like.
//   not_met      the whole interval lies below the expectation; false in at most `error`, too.
//   inconclusive the expectation lies inside the interval; `more_runs` a side would probably decide.
//
// Whoever adds runs and looks again has more chances to be fooled. ClaimPlan fixes the looks before the first
// run and divides the error among them (a union bound), so the guarantee holds over all looks and for any
// rule of stopping, such as "until the interval is narrow". Method, proof and tables:
// docs/analysis/statistics.md. Pure functions; any thread.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/described.h"
#include "base/result.h"

namespace nl::stats {

enum class ClaimVerdict : uint8_t { kMet, kNotMet, kInconclusive };
inline constexpr size_t kClaimVerdicts = static_cast<size_t>(ClaimVerdict::kInconclusive) + 1;
/// As in JSON: met, not_met, inconclusive.
std::string_view claim_verdict_name(ClaimVerdict verdict);

}  // namespace nl::stats

template <>
struct nl::DescribedAs<nl::stats::ClaimVerdict>
    : nl::DescribedEnum<nl::stats::ClaimVerdict, nl::stats::claim_verdict_name, nl::stats::kClaimVerdicts> {};

namespace nl::stats {

struct ClaimOptions {
  double expected = 1.05;  ///< times as fast as the baseline, at least
  double error = 0.02;     ///< chance of a false met, and of a false not_met
};

struct Claim {
  ClaimVerdict verdict = ClaimVerdict::kInconclusive;
  double expected = 1;
  double speedup = 1;
  std::optional<double> low;
  std::optional<double> high;
  std::optional<double> coverage;
  int64_t n = 0;
  std::optional<int64_t> more_runs;
  static constexpr auto fields() {
    using C = Claim;
    return std::tuple{
        field("verdict", &C::verdict),
        field("expected", &C::expected, "times as fast, at least"),
        field_maybe_endless("speedup", &C::speedup,
                            "typical ratio of base to variant; null if it is infinite"),
        field("low", &C::low, "lower end of its interval; null with too few runs"),
        field("high", &C::high, "upper end; null with too few runs, or if it is infinite"),
        field("coverage", &C::coverage,
              "chance that the interval of this look holds the true speed-up, at least"),
        field("n", &C::n, "runs a side, those of the shorter side"),
        field(
            "more_runs", &C::more_runs,
            "of inconclusive: runs a side that would probably decide; null if nobody would measure so many")};
  }
};

/// The runs are all there and are looked at once. bad_input: a value that is not finite and above 0, no
/// value, or options out of range.
Result<Claim> judge_claim(const std::vector<double>& base, const std::vector<double>& variant,
                          const ClaimOptions& options = {});

/// A number of runs a side at which one looks, and the error that this look may spend at each end.
struct Look {
  int64_t runs = 0;
  double tail = 0;
};

/// Looks that are fixed before the first run. The error spent grows with the runs (the linear spending
/// function of Kim and DeMets); what a look cannot use, since ranks take few values, is left to the next.
class ClaimPlan {
 public:
  /// From `first` to `most` runs a side; looks at which no verdict is possible are left out. bad_input:
  /// numbers out of order, or so few runs that no verdict can be reached.
  static Result<ClaimPlan> make(const ClaimOptions& options, int64_t first, int64_t most);

  const std::vector<Look>& looks() const { return looks_; }
  /// Runs a side of the first look above `runs`; absent after the last.
  std::optional<int64_t> next_look(int64_t runs) const;
  /// The verdict of the look at so many runs: those of the shorter side. bad_input if the plan has no such
  /// look. `coverage` is that of this look alone; over all looks the intervals hold the truth together with
  /// 1 - 2 * error.
  Result<Claim> judge(const std::vector<double>& base, const std::vector<double>& variant) const;

 private:
  ClaimPlan(const ClaimOptions& options, std::vector<Look> looks)
      : options_(options), looks_(std::move(looks)) {}
  ClaimOptions options_;
  std::vector<Look> looks_;
};

}  // namespace nl::stats
