// False verdicts and power of stats::judge on runs with a known truth, beside a plain threshold and Welch's
// test. Prints tables for docs/analysis/statistics.md; see bench/statistics/run.

#include "stats/judge.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "stats/distributions.h"
#include "stats/effect.h"
#include "workload.h"

namespace nl::bench {
namespace {

using stats::Judgement;
using stats::Level;
using stats::Series;
using stats::Verdict;

constexpr double kSpreads[] = {0.005, 0.01, 0.02, 0.03};
constexpr size_t kRuns[] = {3, 4, 5, 6, 7, 8, 10, 12, 15, 20};
constexpr double kChanges[] = {0.01, 0.02, 0.03, 0.05, 0.10, 0.20};

bool exceeds_threshold(const Series& s) {
  return stats::median(stats::sorted(s.candidate)) > 1.03 * stats::median(stats::sorted(s.base));
}

struct Moments {
  double mean = 0, error = 0;  ///< error: variance of the mean
  explicit Moments(const std::vector<double>& values) {
    const auto n = static_cast<double>(values.size());
    for (const double v : values) mean += v / n;
    for (const double v : values) error += (v - mean) * (v - mean) / (n - 1) / n;
  }
};

bool welch_says_slower(const Series& s) {
  const Moments a(s.base), b(s.candidate);
  const double n = static_cast<double>(s.base.size()) - 1;
  const double freedom =
      (a.error + b.error) * (a.error + b.error) / (a.error * a.error / n + b.error * b.error / n);
  const double t = (b.mean - a.mean) / std::sqrt(a.error + b.error);
  return t > 0 && stats::student_two_sided(t, freedom) < 0.05;
}

/// How many of what was asked for were found, by each method.
struct Found {
  int ours = 0, threshold = 0, welch = 0;
  void add(const Series& s, const Judgement& j) {
    ours += j.verdict == Verdict::kRegression;
    threshold += exceeds_threshold(s);
    welch += welch_says_slower(s);
  }
};

std::string percent(int part, int whole) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f", 100.0 * part / std::max(whole, 1));
  return text;
}

std::vector<double> all_factors(double change) {
  return std::vector<double>(kKernels, 1 + change);
}

/// One row a number of runs: false regressions of window and kernels without any change.
void print_null(int pairs, const std::vector<double>& weights) {
  std::printf(
      "<!-- table: null -->\n| noise of kernels | runs a side | window: regression | threshold | Welch | "
      "any kernel: regression | threshold | Welch |\n|---|---|---|---|---|---|---|---|\n");
  uint64_t seed = 100;
  for (const double spread : kSpreads) {
    for (const size_t runs : kRuns) {
      Noise noise(seed++);
      Found window, kernels;
      for (int i = 0; i < pairs; i++) {
        const Pair pair(noise, weights, spread, runs);
        const auto levels = pair.with_change(all_factors(0), 3);
        const auto judged = *stats::judge(levels);
        window.add(levels[0].series[0], judged[0][0]);
        Found here;
        for (size_t k = 0; k < judged[2].size(); k++) here.add(levels[2].series[k], judged[2][k]);
        kernels.ours += here.ours > 0;
        kernels.threshold += here.threshold > 0;
        kernels.welch += here.welch > 0;
      }
      std::printf("| %.1f %% | %zu |", spread * 100, runs);
      for (const Found* f : {&window, &kernels}) {
        for (const int part : {f->ours, f->threshold, f->welch})
          std::printf(" %s |", percent(part, pairs).c_str());
      }
      std::printf("\n");
      std::fflush(stdout);
    }
  }
}

/// The whole window is slower: share of pairs with the verdict regression, then what threshold and Welch say.
void print_window_power(int pairs, const std::vector<double>& weights) {
  std::printf(
      "<!-- table: power -->\n| noise of kernels | runs a side | 1 %% | 2 %% | 3 %% | 5 %% | 10 %% | 20 %% "
      "|\n"
      "|---|---|---|---|---|---|---|---|\n");
  uint64_t seed = 200;
  for (const double spread : kSpreads) {
    for (const size_t runs : kRuns) {
      Noise noise(seed++);
      std::vector<Found> found(std::size(kChanges));
      for (int i = 0; i < pairs; i++) {
        const Pair pair(noise, weights, spread, runs);
        for (size_t c = 0; c < std::size(kChanges); c++) {
          const auto levels = pair.with_change(all_factors(kChanges[c]), 1);
          found[c].add(levels[0].series[0], (*stats::judge(levels))[0][0]);
        }
      }
      std::printf("| %.1f %% | %zu |", spread * 100, runs);
      for (const Found& f : found) {
        std::printf(" %s · %s · %s |", percent(f.ours, pairs).c_str(), percent(f.threshold, pairs).c_str(),
                    percent(f.welch, pairs).c_str());
      }
      std::printf("\n");
      std::fflush(stdout);
    }
  }
}

/// Which kernels are slower in a scenario.
struct Scenario {
  const char* name;
  bool (*is_changed)(size_t kernel, size_t lone);
};
constexpr Scenario kScenarios[] = {
    {"one class of 12", [](size_t kernel, size_t) { return class_of(kernel) == 3; }},
    {"every tenth kernel", [](size_t kernel, size_t) { return kernel % 10 == 7; }},
    {"one kernel", [](size_t kernel, size_t lone) { return kernel == lone; }},
};

struct KernelScore {
  int changed = 0, found = 0;
  double false_share = 0;
};

void score(const std::vector<Judgement>& kernels, const std::vector<size_t>& tested,
           const std::vector<double>& factors, KernelScore& out) {
  int named = 0, wrong = 0;
  for (size_t k = 0; k < kernels.size(); k++) {
    const bool is_changed = factors[tested[k]] != 1;
    const bool is_named =
        kernels[k].verdict == Verdict::kRegression || kernels[k].verdict == Verdict::kImprovement;
    out.changed += is_changed;
    out.found += is_changed && kernels[k].verdict == Verdict::kRegression;
    named += is_named;
    wrong += is_named && !is_changed;
  }
  out.false_share += named == 0 ? 0 : static_cast<double>(wrong) / named;
}

/// Some kernels are slower: share of them that is named, and share of the named that is not slower.
void print_kernel_power(int pairs, const std::vector<double>& weights) {
  std::printf(
      "<!-- table: kernels -->\n| slower | noise | runs a side | 1 %% | 2 %% | 3 %% | 5 %% | 10 %% | 20 %% | "
      "largest share of false ones |\n|---|---|---|---|---|---|---|---|---|---|\n");
  uint64_t seed = 300;
  for (const Scenario& scenario : kScenarios) {
    for (const double spread : {0.005, 0.01, 0.02}) {
      for (const size_t runs : {5, 7, 10, 15, 20}) {
        Noise noise(seed++);
        std::vector<KernelScore> scores(std::size(kChanges));
        for (int i = 0; i < pairs; i++) {
          const Pair pair(noise, weights, spread, runs);
          const size_t lone = pair.tested()[noise.below(pair.tested().size())];
          for (size_t c = 0; c < std::size(kChanges); c++) {
            std::vector<double> factors(kKernels, 1);
            for (size_t k = 0; k < kKernels; k++)
              factors[k] += scenario.is_changed(k, lone) ? kChanges[c] : 0;
            score((*stats::judge(pair.with_change(factors, 3)))[2], pair.tested(), factors, scores[c]);
          }
        }
        std::printf("| %s | %.1f %% | %zu |", scenario.name, spread * 100, runs);
        double most = 0;
        for (const KernelScore& s : scores) {
          std::printf(" %s |", percent(s.found, s.changed).c_str());
          most = std::max(most, s.false_share / pairs);
        }
        std::printf(" %.1f %% |\n", 100 * most);
        std::fflush(stdout);
      }
    }
  }
}

/// Noise of one value: nearly normal, or skewed with outliers.
std::vector<double> drawn(Noise& noise, size_t runs, double level, bool skewed) {
  std::vector<double> values;
  for (size_t i = 0; i < runs; i++) {
    const double plain = 1 + 0.02 * noise.normal();
    const double skew = std::exp(0.05 * std::abs(noise.normal())) * (noise.happens(0.05) ? 1.3 : 1);
    values.push_back(level * (skewed ? skew : plain));
  }
  return stats::sorted(std::move(values));
}

/// How often the interval holds the true ratio.
void print_coverage(int pairs) {
  std::printf(
      "<!-- table: coverage -->\n| noise | runs a side | exact: holds the truth | it says | its width | BCa "
      "bootstrap: holds the truth | its width |\n|---|---|---|---|---|---|---|\n");
  uint64_t seed = 400;
  for (const bool skewed : {false, true}) {
    for (const size_t runs : {4, 5, 6, 8, 10, 15, 20}) {
      Noise noise(seed++);
      int exact = 0, bootstrap = 0;
      double says = 0, exact_width = 0, bootstrap_width = 0;
      for (int i = 0; i < pairs; i++) {
        const auto a = drawn(noise, runs, 1000, skewed), b = drawn(noise, runs, 1050, skewed);
        const auto one = *stats::typical_ratio(a, b).interval;
        const auto two = *stats::bootstrap_ratio_interval(a, b, 1000);
        exact += one.low <= 1.05 && 1.05 <= one.high;
        bootstrap += two.low <= 1.05 && 1.05 <= two.high;
        says = one.coverage;
        exact_width += (one.high - one.low) / pairs;
        bootstrap_width += (two.high - two.low) / pairs;
      }
      std::printf("| %s | %zu | %s %% | %.1f %% | %.1f %% | %s %% | %.1f %% |\n",
                  skewed ? "skewed, outliers" : "normal 2 %", runs, percent(exact, pairs).c_str(), 100 * says,
                  100 * exact_width, percent(bootstrap, pairs).c_str(), 100 * bootstrap_width);
    }
  }
}

Judgement window_judged(Noise& noise, size_t runs, double change) {
  Series series{"window", {}, {}};
  for (size_t i = 0; i < runs; i++) {
    series.base.push_back(1000 * (1 + 0.01 * noise.normal()));
    series.candidate.push_back(1000 * (1 + change) * (1 + 0.01 * noise.normal()));
  }
  return (*stats::judge({{"window", {series}}}))[0][0];
}

/// Inconclusive pairs, measured anew with as many runs as was said.
void print_runs_needed(int pairs) {
  std::printf(
      "<!-- table: needed -->\n| true change | runs a side at first | inconclusive | median of runs needed | "
      "then decided |\n|---|---|---|---|---|\n");
  uint64_t seed = 500;
  for (const double change : {0.0, 0.02, 0.03, 0.05}) {
    for (const size_t runs : {3, 5, 8}) {
      Noise noise(seed++);
      std::vector<double> needed;
      int inconclusive = 0, decided = 0;
      for (int i = 0; i < pairs; i++) {
        const Judgement first = window_judged(noise, runs, change);
        if (first.verdict != Verdict::kInconclusive) continue;
        inconclusive++;
        if (!first.runs_needed) continue;
        needed.push_back(static_cast<double>(*first.runs_needed));
        decided += window_judged(noise, static_cast<size_t>(*first.runs_needed), change).verdict !=
                   Verdict::kInconclusive;
      }
      needed = stats::sorted(std::move(needed));
      std::printf("| %.0f %% | %zu | %s %% | %.0f | %s %% |\n", change * 100, runs,
                  percent(inconclusive, pairs).c_str(), needed.empty() ? 0 : stats::median(needed),
                  percent(decided, static_cast<int>(needed.size())).c_str());
    }
  }
}

}  // namespace
}  // namespace nl::bench

int main(int argc, char** argv) {
  using namespace nl::bench;
  const int pairs = argc > 1 ? std::atoi(argv[1]) : 1000;
  const std::string only = argc > 2 ? argv[2] : "";
  Noise noise(7);
  const std::vector<double> weights = kernel_weights(noise);
  if (only.empty() || only == "null") print_null(pairs, weights);
  if (only.empty() || only == "power") print_window_power(pairs, weights);
  if (only.empty() || only == "kernels") print_kernel_power(pairs / 5, weights);
  if (only.empty() || only == "coverage") print_coverage(pairs * 2);
  if (only.empty() || only == "needed") print_runs_needed(pairs);
}
