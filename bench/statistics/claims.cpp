// False claims, power, steps of a bisection and the noise floor on machines with known noise. Prints tables
// for docs/analysis/statistics.md; see bench/statistics/run. With --check it ends with 1 if a promise does
// not hold; tests/full/claims asks for that.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "machine.h"
#include "stats/claim.h"
#include "stats/effect.h"
#include "stats/noise_floor.h"
#include "stats/sample.h"

namespace nl::bench {
namespace {

using stats::Claim;
using stats::ClaimOptions;
using stats::ClaimPlan;
using stats::ClaimVerdict;
using stats::EndsMeasured;
using stats::StepDecision;
using stats::StepTest;

bool all_promises_held = true;

/// So many of `trials` happen by chance at most, if each does with `chance`: three deviations more.
void promise(const char* what, int happened, int trials, double chance) {
  const double most = trials * chance + 3 * std::sqrt(trials * chance * (1 - chance)) + 1;
  if (happened <= most) return;
  all_promises_held = false;
  std::fprintf(stderr, "broken: %s: %d of %d, at most %.0f were promised\n", what, happened, trials, most);
}

struct Sides {
  std::vector<double> base, variant;
};

/// `slower`: the variant's time over that of the base.
Sides sides(Machine& machine, size_t runs, double slower) {
  Sides out;
  for (size_t i = 0; i < runs; i++) {
    const auto pair = machine.pair(slower);
    out.base.push_back(pair.good);
    out.variant.push_back(pair.candidate);
  }
  return out;
}

std::vector<double> first(const std::vector<double>& values, int64_t count) {
  return {values.begin(), values.begin() + count};
}

/// One looks again and again until something is said.
Claim claimed(const ClaimPlan& plan, const Sides& all) {
  Claim claim;
  for (const auto& look : plan.looks()) {
    claim = *plan.judge(first(all.base, look.runs), first(all.variant, look.runs));
    if (claim.verdict != ClaimVerdict::kInconclusive) break;
  }
  return claim;
}

constexpr int64_t kMost = 40;
constexpr int64_t kSizes[] = {5, 10, 20, 40};

double share(int part, int whole) {
  return 100.0 * part / std::max(whole, 1);
}

/// The same thing on both sides: how often a speed-up of 1.05 is called met, and any speed-up at all.
void print_false_claims(int pairs) {
  std::printf(
      "<!-- table: claims_null -->\n| noise | runs a side | met, of 1.05 | faster | slower |\n"
      "|---|---|---|---|---|\n");
  uint64_t seed = 600;
  for (const Kind kind : kKinds) {
    Noise noise(seed++);
    for (const int64_t runs : kSizes) {
      int met = 0, faster = 0, slower = 0;
      for (int i = 0; i < pairs; i++) {
        Machine machine(kind, noise);
        const Sides s = sides(machine, static_cast<size_t>(runs), 1);
        met += stats::judge_claim(s.base, s.variant, {1.05})->verdict == ClaimVerdict::kMet;
        const Claim any = *stats::judge_claim(s.base, s.variant, {1.0});
        faster += any.verdict == ClaimVerdict::kMet;
        slower += any.verdict == ClaimVerdict::kNotMet;
      }
      promise("false met", met, pairs, 0.02);
      promise("false faster", faster, pairs, 0.02);
      promise("false slower", slower, pairs, 0.02);
      std::printf("| %s | %lld | %.2f | %.2f | %.2f |\n", kind_name(kind).data(),
                  static_cast<long long>(runs), share(met, pairs), share(faster, pairs),
                  share(slower, pairs));
    }
    int met = 0, faster = 0, slower = 0;
    const auto of_five = *ClaimPlan::make({1.05}, 5, kMost), of_any = *ClaimPlan::make({1.0}, 5, kMost);
    for (int i = 0; i < pairs; i++) {
      Machine machine(kind, noise);
      const Sides s = sides(machine, kMost, 1);
      met += claimed(of_five, s).verdict == ClaimVerdict::kMet;
      const Claim any = claimed(of_any, s);
      faster += any.verdict == ClaimVerdict::kMet;
      slower += any.verdict == ClaimVerdict::kNotMet;
    }
    promise("false met after several looks", met, pairs, 0.02);
    promise("false faster after several looks", faster, pairs, 0.02);
    promise("false slower after several looks", slower, pairs, 0.02);
    std::printf("| %s | %zu looks, 5 to %lld | %.2f | %.2f | %.2f |\n", kind_name(kind).data(),
                of_any.looks().size(), static_cast<long long>(kMost), share(met, pairs), share(faster, pairs),
                share(slower, pairs));
    std::fflush(stdout);
  }
}

/// Injected slow-downs, and a speed-up of 1.10 that is claimed to be 1.05 at least.
void print_power(int pairs) {
  std::printf(
      "<!-- table: claims_power -->\n| noise | runs a side | slower by 3 %%: found | 5 %% | 10 %% | "
      "1.10 times as fast: \"1.05\" met |\n|---|---|---|---|---|---|\n");
  uint64_t seed = 700;
  const auto found = [](const Claim& claim) { return claim.verdict == ClaimVerdict::kNotMet; };
  const auto met = [](const Claim& claim) { return claim.verdict == ClaimVerdict::kMet; };
  for (const Kind kind : kKinds) {
    Noise noise(seed++);
    for (const int64_t runs : kSizes) {
      std::printf("| %s | %lld |", kind_name(kind).data(), static_cast<long long>(runs));
      for (const double slower : {1.03, 1.05, 1.10, 1 / 1.10}) {
        int count = 0;
        for (int i = 0; i < pairs; i++) {
          Machine machine(kind, noise);
          const Sides s = sides(machine, static_cast<size_t>(runs), slower);
          count += slower > 1 ? found(*stats::judge_claim(s.base, s.variant, {1.0}))
                              : met(*stats::judge_claim(s.base, s.variant, {1.05}));
        }
        std::printf(" %.1f |", share(count, pairs));
      }
      std::printf("\n");
    }
    const auto any = *ClaimPlan::make({1.0}, 5, kMost), five = *ClaimPlan::make({1.05}, 5, kMost);
    std::printf("| %s | looks, 5 to %lld |", kind_name(kind).data(), static_cast<long long>(kMost));
    for (const double slower : {1.03, 1.05, 1.10, 1 / 1.10}) {
      int count = 0;
      double used = 0;
      for (int i = 0; i < pairs; i++) {
        Machine machine(kind, noise);
        const Sides s = sides(machine, kMost, slower);
        const Claim claim = claimed(slower > 1 ? any : five, s);
        count += slower > 1 ? found(claim) : met(claim);
        used += static_cast<double>(claim.n) / pairs;
      }
      std::printf(" %.1f, with %.0f |", share(count, pairs), used);
    }
    std::printf("\n");
    std::fflush(stdout);
  }
}

constexpr size_t kMostPairs = 100;

struct Steps {
  int wrong = 0, undecided = 0, trials = 0;
  double pairs = 0;
};

/// The ends as a bisection measures them: until they are enough.
std::optional<EndsMeasured> ends_of(Machine& machine, double slower, double error, double& pairs) {
  std::vector<stats::TimePair> ends;
  while (ends.size() < kMostPairs) {
    ends.push_back(machine.pair(slower));
    if (ends.size() < EndsMeasured::kLeastPairs) continue;
    auto measured = *EndsMeasured::of(ends, error);
    if (!measured.is_enough()) continue;
    pairs += static_cast<double>(ends.size());
    return measured;
  }
  return std::nullopt;
}

void print_steps(int trials) {
  constexpr double kError = 0.05 / 7;
  std::printf(
      "<!-- table: bisect_steps -->\n| noise | slow-down | pairs of the ends | as good as the good end: "
      "wrong | "
      "pairs | as slow as the bad end: wrong | pairs | undecided | runs of 6 steps "
      "|\n|---|---|---|---|---|---|---|---|---|\n");
  uint64_t seed = 800;
  for (const Kind kind : kKinds) {
    for (const double slower : {1.03, 1.05, 1.10}) {
      Noise noise(seed++);
      Steps good, bad;
      double end_pairs = 0;
      for (int i = 0; i < trials; i++) {
        Machine machine(kind, noise);
        const auto ends = ends_of(machine, slower, kError, end_pairs);
        if (!ends) continue;
        for (Steps* steps : {&good, &bad}) {
          StepTest test(*ends, kError);
          StepDecision decision = StepDecision::kUndecided;
          while (decision == StepDecision::kUndecided && test.pairs() < kMostPairs)
            decision = test.add(machine.pair(steps == &bad ? slower : 1));
          steps->trials++;
          steps->pairs += static_cast<double>(test.pairs());
          steps->undecided += decision == StepDecision::kUndecided;
          steps->wrong += decision == (steps == &bad ? StepDecision::kAsGood : StepDecision::kSlow);
        }
      }
      std::printf("| %s | %.0f %% | %.1f | %.2f | %.1f | %.2f | %.1f | %.2f | %.0f |\n",
                  kind_name(kind).data(), 100 * (slower - 1), end_pairs / std::max(1, good.trials),
                  share(good.wrong, good.trials), good.pairs / std::max(1, good.trials),
                  share(bad.wrong, bad.trials), bad.pairs / std::max(1, bad.trials),
                  share(good.undecided + bad.undecided, 2 * good.trials),
                  2 * (end_pairs + 3 * (good.pairs + bad.pairs)) / std::max(1, good.trials));
      std::fflush(stdout);
      if (kind == Kind::kLouder) continue;  // the table says what becomes of it
      promise("a good one is called slow", good.wrong, good.trials, kError);
      promise("a slow one is called good", bad.wrong, bad.trials, kError);
    }
  }
}

/// The floor that an audit states, against pairs that are measured afterwards.
void print_floor(int audits) {
  constexpr int kAfter = 20;
  std::printf(
      "<!-- table: floor -->\n| noise | pairs of the audit | runs a side | floor | above it afterwards | "
      "detectable | found afterwards |\n|---|---|---|---|---|---|---|\n");
  uint64_t seed = 900;
  for (const Kind kind : {Kind::kNormal, Kind::kHeavy, Kind::kOutliers, Kind::kBimodal}) {
    for (const size_t pairs : {10, 20, 40}) {
      Noise noise(seed++);
      std::vector<int> above(5), found(5), tried(5);
      std::vector<double> floor(5), detectable(5);
      for (int i = 0; i < audits; i++) {
        Machine machine(kind, noise);
        std::vector<stats::SamePair> same;
        for (size_t k = 0; k < pairs; k++) same.push_back({machine.next(), machine.next()});
        const auto stated = stats::noise_floor(same)->by_runs;
        for (size_t k = 0; k < 4; k++) {
          floor[k] += stated[k].floor / audits;
          detectable[k] += stated[k].detectable.value_or(0) / audits;
          for (int j = 0; j < kAfter; j++) {
            const Sides s = sides(machine, static_cast<size_t>(stated[k].runs), 1);
            const auto ratio = stats::typical_ratio(stats::sorted(s.base), stats::sorted(s.variant));
            above[k] += std::abs(std::log(ratio.value)) > std::log1p(stated[k].floor);
            found[k] += ratio.interval && stated[k].detectable &&
                        ratio.interval->low * (1 + *stated[k].detectable) > 1;
            tried[k]++;
          }
        }
      }
      for (size_t k = 0; k < 4; k++) {
        if (kind == Kind::kNormal) promise("above the floor", above[k], tried[k], 0.05);
        std::printf("| %s | %zu | %lld | %.2f %% | %.1f %% | %.2f %% | %.0f %% |\n", kind_name(kind).data(),
                    pairs, static_cast<long long>(kSizes[k]), 100 * floor[k], share(above[k], tried[k]),
                    100 * detectable[k], share(found[k], tried[k]));
      }
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace nl::bench

int main(int argc, char** argv) {
  using namespace nl::bench;
  const int pairs = argc > 1 ? std::atoi(argv[1]) : 1000;
  const std::string only = argc > 2 && argv[2][0] != '-' ? argv[2] : "";
  const bool checks = std::string_view(argv[argc - 1]) == "--check";
  if (only.empty() || only == "claims_null") print_false_claims(pairs * 2);
  if (only.empty() || only == "claims_power") print_power(pairs);
  if (only.empty() || only == "bisect_steps") print_steps(pairs * 2);
  if (only.empty() || only == "floor") print_floor(std::max(pairs / 10, 5));
  return checks && !all_promises_held ? 1 : 0;
}
