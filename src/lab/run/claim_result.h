#pragma once
// What the samples of a target say about the claim of one variant: how many times as fast it is, and whether
// it keeps each of the expectations. One value is one process run.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/described.h"
#include "lab/run/sample.h"
#include "lab/targets/target.h"

namespace nl::lab {

enum class ClaimVerdict { kMet, kNotMet, kInconclusive, kRefused };
/// As in JSON: met, not_met, inconclusive, refused.
std::string_view claim_verdict_name(ClaimVerdict verdict);

/// One expectation against what was measured.
struct ExpectationResult {
  std::string text;
  ClaimVerdict verdict = ClaimVerdict::kInconclusive;
  std::optional<double> value = {}, low = {}, high = {};
  std::string reason = {};
  std::optional<int64_t> more_runs = {};

  static constexpr auto fields();
};

/// One side of a claim in figures.
struct SideFigures {
  std::string name;
  int64_t runs = 0;
  std::optional<int64_t> median_ns = {}, low_ns = {}, high_ns = {};
  std::optional<int64_t> cold_ns = {};  ///< the first run of all; one value
  std::optional<int64_t> first_ns = {};
  std::optional<int64_t> peak_memory_bytes = {};
  std::optional<double> per_second = {};  ///< iterations
  int64_t disturbed = 0;                  ///< runs that are marked
  std::vector<std::string> run_ids = {};

  static constexpr auto fields();
};

struct ClaimResult {
  std::string name;  ///< of the target, and of the variant where the target has several
  std::string target, variant;
  ClaimVerdict verdict = ClaimVerdict::kInconclusive;
  std::optional<double> speedup = {}, low = {}, high = {};
  int64_t runs = 0;                       ///< counted process runs of both sides
  std::optional<int64_t> more_runs = {};  ///< a side, that would probably decide
  std::string reason = {};
  bool is_checked = false;  ///< its results were found right
  std::vector<ExpectationResult> expectations = {};
  SideFigures baseline = {}, changed = {};
  std::vector<std::string> proposals = {};
  std::vector<std::string> profiled_runs =
      {};                ///< of the baseline and the variant, where profiles were asked for
  std::string why = {};  ///< what their comparison says

  static constexpr auto fields();
};

/// From the counted samples of the target, in the order in which they were measured; others are passed over.
ClaimResult judge_claim(const Target& target, const Side& variant, const std::vector<Sample>& samples);
/// Nothing was timed, and why.
ClaimResult refused_claim(const Target& target, const Side& variant, const std::string& reason);

/// Is the interval of every variant's speed-up as narrow as asked for?
bool is_narrow_enough(const Target& target, const std::vector<ClaimResult>& claims);

// ---- How they are written

constexpr auto ExpectationResult::fields() {
  using E = ExpectationResult;
  return std::tuple{field("text", &E::text, "as it stands in the file"),
                    field("verdict", &E::verdict),
                    field("value", &E::value, "null if it is not known"),
                    field("low", &E::low, "of its interval"),
                    field("high", &E::high, "of its interval"),
                    field("reason", &E::reason, "why nothing is decided; else empty"),
                    field("more_runs", &E::more_runs, "a side, that would probably decide")};
}

constexpr auto SideFigures::fields() {
  using S = SideFigures;
  return std::tuple{field("name", &S::name),
                    field("runs", &S::runs, "process runs that count"),
                    field("median_ns", &S::median_ns, "of the runs; null without any"),
                    field("low_ns", &S::low_ns, "lower end of the interval around the median"),
                    field("high_ns", &S::high_ns, "upper end of it"),
                    field("cold_ns", &S::cold_ns, "the first run of all, which does not count: one value"),
                    field("first_ns", &S::first_ns, "median time to the first result; null for commands"),
                    field("peak_memory_bytes", &S::peak_memory_bytes, "largest of the runs"),
                    field("per_second", &S::per_second, "iterations a second, median; null for commands"),
                    field("disturbed", &S::disturbed, "runs that something disturbed; they count"),
                    field("run_ids", &S::run_ids, "the runs in the ledger")};
}

constexpr auto ClaimResult::fields() {
  using C = ClaimResult;
  return std::tuple{
      field("name", &C::name, "of the target, and of the variant where the target has several"),
      field("target", &C::target),
      field("variant", &C::variant),
      field("verdict", &C::verdict),
      field("speedup", &C::speedup, "time of the baseline over time of the variant; null without runs"),
      field("low", &C::low, "lower end of its interval of 95 %; null below 4 + 4 runs"),
      field("high", &C::high, "upper end of it"),
      field("runs", &C::runs, "process runs of both sides that count"),
      field("more_runs", &C::more_runs, "a side, that would probably decide; null if that is not known"),
      field("reason", &C::reason, "why it is refused or inconclusive; else empty"),
      field("checked", &C::is_checked, "the check of the file found its results right"),
      field("expectations", &C::expectations),
      field("baseline", &C::baseline),
      field("changed", &C::changed, "the variant"),
      field("proposals", &C::proposals, "what could be tried where the claim is not met"),
      field("profiled_runs", &C::profiled_runs,
            "one of each side, under a profiler; empty: none was asked for"),
      field("why", &C::why, "what the comparison of these two says; else empty")};
}

}  // namespace nl::lab

template <>
struct nl::DescribedAs<nl::lab::ClaimVerdict>
    : nl::DescribedEnum<nl::lab::ClaimVerdict, nl::lab::claim_verdict_name, 4> {};
