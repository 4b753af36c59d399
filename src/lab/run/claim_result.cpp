#include "lab/run/claim_result.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "stats/claim.h"
#include "stats/effect.h"
#include "stats/sample.h"

namespace nl::lab {
namespace {

using Values = std::vector<double>;

std::vector<const Sample*> counted(const Target& target, const std::string& side,
                                   const std::vector<Sample>& samples) {
  std::vector<const Sample*> found;
  for (const Sample& sample : samples) {
    if (sample.target == target.name && sample.side == side && sample.phase == Phase::kCounted)
      found.push_back(&sample);
  }
  return found;
}

Values times_of(const std::vector<const Sample*>& samples) {
  Values values;
  for (const Sample* sample : samples) values.push_back(static_cast<double>(sample->value_ns));
  return values;
}

std::optional<int64_t> rounded(std::optional<double> value) {
  if (!value) return std::nullopt;
  return std::llround(*value);
}

// ---- Figures of one side

/// Of one process run; absent where it has none.
std::optional<double> figure_of(Figure figure, const Sample& sample) {
  const auto quantile = [&](double q) -> std::optional<double> {
    Values iterations(sample.iterations_ns.begin(), sample.iterations_ns.end());
    const auto found = stats::tail_quantile(stats::sorted(std::move(iterations)), q);
    return found ? std::optional(*found / 1e6) : std::nullopt;
  };
  switch (figure) {
    case Figure::kMedianMs:
      return static_cast<double>(sample.value_ns) / 1e6;
    case Figure::kP90Ms:
      return quantile(0.9);
    case Figure::kP99Ms:
      return quantile(0.99);
    case Figure::kFirstMs:
      return sample.first_ns ? std::optional(static_cast<double>(*sample.first_ns) / 1e6) : std::nullopt;
    case Figure::kMemoryMb:
      return sample.peak_memory_bytes ? std::optional(static_cast<double>(*sample.peak_memory_bytes) / 1e6)
                                      : std::nullopt;
    case Figure::kPerSecond:
      return sample.value_ns > 0 ? std::optional(1e9 / static_cast<double>(sample.value_ns)) : std::nullopt;
    case Figure::kSpeedup:
      break;
  }
  return std::nullopt;
}

Values figures_of(Figure figure, const std::vector<const Sample*>& samples) {
  Values values;
  for (const Sample* sample : samples) {
    if (const auto value = figure_of(figure, *sample)) values.push_back(*value);
  }
  return stats::sorted(std::move(values));
}

std::optional<double> median_of(Figure figure, const std::vector<const Sample*>& samples, double unit) {
  const Values values = figures_of(figure, samples);
  return values.empty() ? std::nullopt : std::optional(stats::median(values) * unit);
}

SideFigures side_figures(const Target& target, const std::string& side, const std::vector<Sample>& samples) {
  SideFigures figures;
  figures.name = side;
  const auto runs = counted(target, side, samples);
  figures.runs = std::ssize(runs);
  for (const Sample& sample : samples) {
    if (sample.target == target.name && sample.side == side && sample.phase == Phase::kCold &&
        !figures.cold_ns)
      figures.cold_ns = sample.value_ns;
  }
  const Values times = stats::sorted(times_of(runs));
  if (times.empty()) return figures;
  figures.median_ns = std::llround(stats::median(times));
  if (const auto interval = stats::median_interval(times)) {
    figures.low_ns = std::llround(interval->low);
    figures.high_ns = std::llround(interval->high);
  }
  figures.first_ns = rounded(median_of(Figure::kFirstMs, runs, 1e6));
  const bool has_iterations = !runs.front()->iterations_ns.empty();
  if (has_iterations) figures.per_second = median_of(Figure::kPerSecond, runs, 1);
  for (const Sample* sample : runs) {
    if (sample->peak_memory_bytes)
      figures.peak_memory_bytes = std::max(figures.peak_memory_bytes.value_or(0), *sample->peak_memory_bytes);
    figures.disturbed += sample->conditions.marks.empty() ? 0 : 1;
  }
  return figures;
}

// ---- Expectations

/// The looks are fixed by the file, so that it is no matter how often somebody looks: the first of them that
/// decides, or the last that there are runs for.
ExpectationResult judge_speedup(const Expectation& expectation, const StopRule& stop, const Values& base,
                                const Values& variant) {
  ExpectationResult result{expectation.text};
  const auto plan = stats::ClaimPlan::make({.expected = expectation.bound}, stop.least, stop.runs);
  if (!plan) {
    result.reason = plan.error().message;
    return result;
  }
  const int64_t runs = std::min(std::ssize(base), std::ssize(variant));
  result.reason = "too few runs";
  result.more_runs = plan->looks().front().runs - runs;
  for (const stats::Look& look : plan->looks()) {
    if (look.runs > runs || result.verdict != ClaimVerdict::kInconclusive) break;
    const Values first_base(base.begin(), base.begin() + look.runs);
    const Values first_variant(variant.begin(), variant.begin() + look.runs);
    const auto claim = plan->judge(first_base, first_variant);
    if (!claim) {
      result.reason = claim.error().message;
      break;
    }
    result.verdict = static_cast<ClaimVerdict>(claim->verdict);
    result.value = claim->speedup;
    result.low = claim->low;
    result.high = claim->high;
    result.more_runs = claim->more_runs;
    result.reason = claim->verdict == stats::ClaimVerdict::kInconclusive
                        ? "the interval of the speed-up holds the bound"
                        : "";
  }
  return result;
}

/// Of a figure of the variant alone: the interval around the median of its runs against the bound.
ExpectationResult judge_figure(const Expectation& expectation, const std::vector<const Sample*>& runs) {
  ExpectationResult result{expectation.text};
  const Values values = figures_of(expectation.figure, runs);
  if (values.empty()) {
    result.reason = fmt::format("no run has this figure: {}", figure_name(expectation.figure));
    return result;
  }
  result.value = stats::median(values);
  const auto interval = stats::median_interval(values);
  if (!interval) {
    result.reason = "fewer than 6 runs have this figure";
    result.more_runs = 6 - std::ssize(values);
    return result;
  }
  result.low = interval->low;
  result.high = interval->high;
  const bool keeps =
      expectation.at_least ? interval->low >= expectation.bound : interval->high <= expectation.bound;
  const bool breaks =
      expectation.at_least ? interval->high < expectation.bound : interval->low > expectation.bound;
  if (keeps) result.verdict = ClaimVerdict::kMet;
  if (breaks) result.verdict = ClaimVerdict::kNotMet;
  if (!keeps && !breaks) result.reason = "the interval around the median holds the bound";
  return result;
}

/// Not met if one expectation is not met, met if all are.
void conclude(ClaimResult& claim) {
  const auto has = [&](ClaimVerdict verdict) {
    return std::any_of(claim.expectations.begin(), claim.expectations.end(),
                       [&](const auto& expectation) { return expectation.verdict == verdict; });
  };
  claim.verdict = has(ClaimVerdict::kNotMet)         ? ClaimVerdict::kNotMet
                  : has(ClaimVerdict::kInconclusive) ? ClaimVerdict::kInconclusive
                                                     : ClaimVerdict::kMet;
  for (const ExpectationResult& expectation : claim.expectations) {
    if (expectation.verdict != claim.verdict || claim.verdict != ClaimVerdict::kInconclusive) continue;
    if (claim.reason.empty()) claim.reason = expectation.text + ": " + expectation.reason;
    if (expectation.more_runs)
      claim.more_runs = std::max(claim.more_runs.value_or(0), *expectation.more_runs);
  }
}

std::string claim_name(const Target& target, const Side& variant) {
  return target.variants.size() == 1 ? target.name : target.name + "/" + variant.name;
}

std::string larger_text(const Target& target) {
  std::string text;
  for (const Target& larger : target.larger) text += (text.empty() ? "" : ", ") + larger.name;
  return "larger sizes, for all sides alike (--grow): " + text;
}

}  // namespace

std::string_view claim_verdict_name(ClaimVerdict verdict) {
  static constexpr std::string_view kNames[] = {"met", "not_met", "inconclusive", "refused"};
  return kNames[static_cast<size_t>(verdict)];
}

ClaimResult judge_claim(const Target& target, const Side& variant, const std::vector<Sample>& samples) {
  ClaimResult claim;
  claim.name = claim_name(target, variant);
  claim.target = target.name;
  claim.variant = variant.name;
  claim.baseline = side_figures(target, "baseline", samples);
  claim.changed = side_figures(target, variant.name, samples);
  claim.runs = claim.baseline.runs + claim.changed.runs;
  const auto base = times_of(counted(target, "baseline", samples));
  const auto changed_runs = counted(target, variant.name, samples);
  const auto changed = times_of(changed_runs);
  if (!base.empty() && !changed.empty()) {
    const auto ratio = stats::typical_ratio(stats::sorted(changed), stats::sorted(base));
    claim.speedup = ratio.value;
    if (ratio.interval) {
      claim.low = ratio.interval->low;
      claim.high = ratio.interval->high;
    }
  }
  std::vector<Expectation> expectations = target.expectations;
  if (expectations.empty()) expectations.push_back({.bound = 1, .text = "speedup >= 1", .line = 0});
  for (const Expectation& expectation : expectations) {
    claim.expectations.push_back(expectation.figure == Figure::kSpeedup
                                     ? judge_speedup(expectation, target.stop, base, changed)
                                     : judge_figure(expectation, changed_runs));
  }
  conclude(claim);
  if (claim.verdict != ClaimVerdict::kMet && !target.larger.empty())
    claim.proposals.push_back(larger_text(target));
  return claim;
}

ClaimResult refused_claim(const Target& target, const Side& variant, const std::string& reason) {
  ClaimResult claim;
  claim.name = claim_name(target, variant);
  claim.target = target.name;
  claim.variant = variant.name;
  claim.verdict = ClaimVerdict::kRefused;
  claim.reason = reason;
  claim.baseline.name = "baseline";
  claim.changed.name = variant.name;
  return claim;
}

bool is_narrow_enough(const Target& target, const std::vector<ClaimResult>& claims) {
  if (!target.stop.width) return false;
  return std::all_of(claims.begin(), claims.end(), [&](const ClaimResult& claim) {
    return claim.low && claim.high && claim.speedup &&
           (*claim.high - *claim.low) / *claim.speedup <= *target.stop.width;
  });
}

}  // namespace nl::lab
