#include "stats/judge.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "stats/effect.h"
#include "stats/false_discovery.h"
#include "stats/rank_test.h"
#include "stats/runs_needed.h"

namespace nl::stats {
namespace {

using Judgements = std::vector<Judgement>;

bool is_measured(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v) && v >= 0; });
}

Result<void> check(const Level& level, size_t parents) {
  for (const Series& series : level.series) {
    if (!is_measured(series.base) || !is_measured(series.candidate)) {
      return Error{ErrorCode::kBadInput, "a value is below zero or not finite: " + series.name};
    }
    if (series.parent && *series.parent >= parents) {
      return Error{ErrorCode::kBadInput, "the level above has no such series for " + series.name};
    }
  }
  return {};
}

Result<void> check(const std::vector<Level>& levels, const JudgeOptions& options) {
  if (!(options.alpha > 0 && options.alpha < 1) || !(options.practical_bound >= 0)) {
    return Error{ErrorCode::kBadInput, "alpha lies between 0 and 1, and the bound is not below 0"};
  }
  size_t parents = 0;
  for (const Level& level : levels) {
    NL_CHECK(check(level, parents));
    parents = level.series.size();
  }
  return {};
}

std::string too_few(size_t base, size_t candidate) {
  if (base == 0 || candidate == 0) return base == 0 ? "no base run" : "no candidate run";
  return "one run on each side does not show how much runs vary";
}

/// Everything but what depends on the other series.
Judgement measured(const Series& series, std::vector<double> base, std::vector<double> candidate) {
  Judgement out;
  out.name = series.name;
  out.base = summary_of(base);
  out.candidate = summary_of(candidate);
  if (base.empty() || candidate.empty()) return out;
  const Ratio ratio = typical_ratio(base, candidate);
  out.ratio_of_medians = ratio_of_medians(base, candidate);
  out.ratio = ratio.value;
  out.ratio_interval = ratio.interval;
  out.shift = hodges_lehmann(base, candidate);
  if (std::min(base.size(), candidate.size()) < 2) return out;
  const RankTest test = mann_whitney(base, candidate);
  out.p = test.p;
  out.p_exact = test.exact;
  out.cliffs_delta = cliffs_delta(test, base.size(), candidate.size());
  return out;
}

/// The series of one level, tested together.
class Tests {
 public:
  Tests(const Level& level, Judgements& judgements, const Judgements* parents, double alpha)
      : level_(level), judgements_(judgements), parents_(parents), alpha_(alpha) {
    for (size_t i = 0; i < judgements.size(); i++) {
      if (judgements[i].p) all_.push_back(i);
    }
  }

  void adjust() {
    const double everywhere = share_of_whole_list();
    if (everywhere > 0) adjust_together(all_, everywhere);
    if (everywhere < 1) adjust_below_changed_parents(1 - everywhere);
  }

 private:
  /// A list of all series finds a lone change anywhere, if the number of runs can pay for it; then it gets
  /// half of alpha. Chosen by sizes alone, so that the data have no say.
  double share_of_whole_list() const {
    const bool has_parents = std::any_of(level_.series.begin(), level_.series.end(),
                                         [](const Series& s) { return s.parent.has_value(); });
    if (parents_ == nullptr || !has_parents) return 1;
    double reachable = 1;
    for (const size_t i : all_) {
      reachable = std::min(reachable, smallest_p(judgements_[i].base.n, judgements_[i].candidate.n));
    }
    return reachable * static_cast<double>(all_.size()) < alpha_ / 2 ? 0.5 : 0;
  }

  /// `share`: the part of alpha that this list may spend.
  void adjust_together(const std::vector<size_t>& list, double share) {
    std::vector<double> p;
    for (const size_t i : list) p.push_back(*judgements_[i].p);
    const std::vector<double> adjusted = benjamini_hochberg(p);
    for (size_t k = 0; k < list.size(); k++) {
      std::optional<double>& now = judgements_[list[k]].p_adjusted;
      now = std::min(now.value_or(1), adjusted[k] / share);
    }
  }

  /// Families below changed parents, each at alpha * changed / families (Benjamini and Bogomolov).
  void adjust_below_changed_parents(double share) {
    std::map<size_t, std::vector<size_t>> families;
    for (const size_t i : all_) {
      if (const auto parent = level_.series[i].parent) families[*parent].push_back(i);
    }
    const auto is_unchanged = [&](const auto& family) { return !is_changed((*parents_)[family.first]); };
    const auto count = static_cast<double>(families.size());
    std::erase_if(families, is_unchanged);
    const double selected = static_cast<double>(families.size()) / count;
    for (const auto& [parent, family] : families) adjust_together(family, share * selected);
  }

  bool is_changed(const Judgement& parent) const { return parent.p_adjusted.value_or(1) < alpha_; }

  const Level& level_;
  Judgements& judgements_;
  const Judgements* parents_;
  double alpha_;
  std::vector<size_t> all_;
};

/// Runs a side with which the interval leaves or stays inside the bound in four of five cases, if the ratio
/// is what it now seems to be.
std::optional<int64_t> runs_for_bound(const Series& series, double ratio, const JudgeOptions& options) {
  const auto spread = log_spread(series.base, series.candidate);
  if (!spread) return std::nullopt;
  const double gap = std::abs(std::abs(natural_log(ratio)) - natural_log(1 + options.practical_bound));
  return runs_by_spread(*spread, gap, (1 - kConfidence) / 2);
}

/// p that one more change in the list of this level would need.
double p_to_be_named(const Judgements& level, double alpha) {
  size_t tested = 0, named = 0;
  for (const Judgement& j : level) {
    tested += j.p.has_value();
    named += j.p_adjusted.value_or(1) < alpha;
  }
  return alpha * static_cast<double>(std::min(named + 1, tested)) /
         static_cast<double>(std::max(tested, size_t{1}));
}

void say_what_is_missing(const Series& series, Judgement& out, double needed_p, const JudgeOptions& options) {
  const auto have = static_cast<int64_t>(std::min(out.base.n, out.candidate.n));
  const double bound = natural_log(1 + options.practical_bound);
  const bool may_be_change = std::abs(natural_log(*out.ratio)) > bound;
  auto needed = runs_for_bound(series, *out.ratio, options);
  if (!needed) return;
  needed = std::max({*needed, runs_to_reach(may_be_change ? needed_p : 1 - kConfidence), have + 1});
  out.runs_needed = needed;
  out.more_runs = *needed - have;
}

std::string why_inconclusive(const Judgement& j, const JudgeOptions& options) {
  if (!j.ratio_interval) return "too few runs for an interval of 95 %";
  const double bound = 1 + options.practical_bound;
  const bool outside = j.ratio_interval->low > bound || j.ratio_interval->high < 1 / bound;
  if (!outside) return "the interval of the ratio crosses the threshold";
  if (!j.p_adjusted)
    return "the level above shows no change, and the runs are too few to test each series alone";
  return "too few runs for a change among so many series";
}

Verdict verdict_of(const Series& series, const Judgement& j, const JudgeOptions& options) {
  if (!j.p) return Verdict::kNotTested;
  if (!j.ratio_interval) return Verdict::kInconclusive;
  const double bound = 1 + options.practical_bound;
  const bool is_named = j.p_adjusted.value_or(1) < options.alpha;
  const bool is_higher = j.ratio_interval->low > bound;
  const bool is_lower = j.ratio_interval->high < 1 / bound;
  if (is_named && (is_higher || is_lower)) {
    return is_higher == series.higher_is_worse ? Verdict::kRegression : Verdict::kImprovement;
  }
  const bool inside = j.ratio_interval->low >= 1 / bound && j.ratio_interval->high <= bound;
  return inside ? Verdict::kNoChange : Verdict::kInconclusive;
}

void conclude(const Level& level, Judgements& judgements, const JudgeOptions& options) {
  const double needed_p = p_to_be_named(judgements, options.alpha);
  for (size_t i = 0; i < judgements.size(); i++) {
    Judgement& j = judgements[i];
    j.verdict = verdict_of(level.series[i], j, options);
    if (j.verdict == Verdict::kNotTested) j.reason = too_few(j.base.n, j.candidate.n);
    if (j.verdict != Verdict::kInconclusive) continue;
    j.reason = why_inconclusive(j, options);
    say_what_is_missing(level.series[i], j, needed_p, options);
  }
}

}  // namespace

Result<std::vector<std::vector<Judgement>>> judge(const std::vector<Level>& levels,
                                                  const JudgeOptions& options) {
  NL_CHECK(check(levels, options));
  std::vector<Judgements> all(levels.size());
  for (size_t i = 0; i < levels.size(); i++) {
    for (const Series& s : levels[i].series) {
      all[i].push_back(measured(s, sorted(s.base), sorted(s.candidate)));
    }
    Tests(levels[i], all[i], i == 0 ? nullptr : &all[i - 1], options.alpha).adjust();
    conclude(levels[i], all[i], options);
  }
  return all;
}

}  // namespace nl::stats
