#include "report/compare_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/number_text.h"
#include "report/head_labels.h"

namespace nl::report {

using compare::ChangeRow;
using compare::Comparison;
using compare::Factor;
using compare::LimitCheck;
using compare::PartRow;
using compare::Statistics;
using compare::WorkAmount;

namespace {

std::string with_blanks(std::string_view text) {
  std::string name(text);
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string joined_names(const WorkAmount& amount) {
  std::string out;
  for (const std::string& name : amount.names) out += (out.empty() ? "" : " + ") + name;
  return out;
}

std::string full_name(const ChangeRow& change) {
  if (!change.base || !change.next) return joined_names(change.base ? *change.base : *change.next);
  const std::string before = joined_names(*change.base), after = joined_names(*change.next);
  return before == after ? after : before + " → " + after;
}

std::string runs_words(size_t base, size_t next) {
  return base == 1 && next == 1 ? "one run on each side" : fmt::format("{} and {} runs", base, next);
}

std::string interval_words(const stats::Interval& interval) {
  return fmt::format(" [{}, {}] at {}", ratio_text(interval.low), ratio_text(interval.high),
                     percent_text(interval.coverage));
}

}  // namespace

std::string side_words(const compare::ComparedSide& side) {
  return head_words(side.model.value_or(""), side.files);
}

std::string verdict_title(stats::Verdict verdict) {
  return sentence(with_blanks(stats::verdict_name(verdict)));
}

std::string sentence(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string change_words(const Comparison& comparison) {
  std::string out =
      fmt::format("{} → {}, {}", duration_text(comparison.base.window_ns),
                  duration_text(comparison.next.window_ns), signed_duration_text(comparison.delta_ns));
  return comparison.ratio ? out + " (" + signed_percent_text(*comparison.ratio - 1) + ")" : out;
}

std::string headline(const Comparison& comparison) {
  return fmt::format("{}: {} {}", verdict_title(comparison.verdict), comparison.unit,
                     change_words(comparison));
}

std::string tested_words(const Statistics& statistics) {
  std::string out = runs_words(statistics.base.n, statistics.next.n);
  if (!statistics.ratio_interval) return out;
  out += ", ratio " + ratio_text(statistics.ratio) + interval_words(*statistics.ratio_interval);
  return statistics.p_adjusted ? out + ", p " + p_text(statistics) : out;
}

std::string unit_words(const Comparison& comparison) {
  const int64_t base = comparison.base.units, next = comparison.next.units;
  if (base == 1 && next == 1) return "one " + comparison.unit;
  return fmt::format("a {}, the mean of {} and {}", comparison.unit, grouped(base), grouped(next));
}

std::string part_title(const PartRow& part) {
  const std::string kind(compare::part_kind_name(part.kind));
  return with_blanks(kind == part.name ? kind : kind + ": " + part.name);
}

std::string p_text(const Statistics& statistics) {
  return statistics.p_adjusted ? fmt::format("{:.2g}", *statistics.p_adjusted) : "-";
}

std::string p_text(const std::optional<Statistics>& statistics) {
  return statistics ? p_text(*statistics) : "-";
}

std::string judged_text(const std::optional<Statistics>& statistics) {
  return statistics ? with_blanks(stats::verdict_name(statistics->verdict)) : "-";
}

std::string ratio_text(std::optional<double> ratio, int digits) {
  if (!ratio || !std::isfinite(*ratio)) return "-";
  return fmt::format("{:.{}f}", *ratio, digits);
}

std::string limit_title(const LimitCheck& limit) {
  return fmt::format("{} {}: at most {}", limit.kind, limit.what, limit.limit);
}

std::string limit_value(const LimitCheck& limit) {
  if (!limit.value_ns) return "nothing has that name";
  return fmt::format("{}, {} of the window", duration_text(*limit.value_ns),
                     percent_text(limit.share.value_or(0)));
}

std::vector<std::string> change_names(const Comparison& comparison) {
  std::map<std::string, int> times;
  for (const ChangeRow& change : comparison.changes) times[change.name]++;
  std::vector<std::string> names;
  for (const ChangeRow& change : comparison.changes)
    names.push_back(times[change.name] == 1 ? change.name : full_name(change));
  return names;
}

std::vector<Factor> unlike_factors(const Comparison& comparison) {
  std::vector<Factor> unlike;
  for (const Factor& factor : comparison.comparability.factors) {
    if (factor.score < 1) unlike.push_back(factor);
  }
  std::stable_sort(unlike.begin(), unlike.end(),
                   [](const Factor& a, const Factor& b) { return a.score < b.score; });
  return unlike;
}

std::string short_run(const compare::ComparedSide& side) {
  return side.run_id.substr(0, 12);
}

bool has_repeats(const Comparison& comparison) {
  return comparison.base.runs.size() > 1 || comparison.next.runs.size() > 1;
}

std::vector<std::pair<std::string, std::string>> compare_definitions(const Comparison& comparison) {
  const double bound = comparison.statistics.practical_bound;
  return {
      {"Figures", "Times are those of " + unit_words(comparison) +
                      ", in whole nanoseconds. With several runs on a side, the run with the median window "
                      "represents its side."},
      {"Parts",
       "Every nanosecond of the device's window belongs to exactly one part: compute by class, communication "
       "and copies while nothing else runs, idle time by cause. The parts of a side add up to its window, "
       "and their differences add up to the whole difference."},
      {"Changes",
       "Each piece of work of one side is matched with one of the other side, or with none. A row is the sum "
       "of what is matched under one name. By calls: the effect of more or fewer calls, at the time of one "
       "call in the base; by duration: the rest of the difference."},
      {"Match", "How sure the matching is, from 0 to 1, weighted by time."},
      {"Comparability",
       "A product of factors, from 0 to 1. Below the floor no verdict is given: the two sides "
       "did different things."},
      {"Repeats", "Each value is one run; steps inside a run are not repeats."},
      {"Test",
       "Rank test of Mann and Whitney, exact for few runs; p is adjusted so that at most 5 % of the named "
       "changes of one level are false. The ratio is that of Hodges and Lehmann, with its interval."},
      {"Verdict", fmt::format("Regression or improvement: p below 0.05 and the whole interval of the ratio "
                              "beyond {} of the base. No change: the whole interval within it. Inconclusive: "
                              "the runs cannot tell. Not tested: nothing to test with.",
                              percent_text(bound))}};
}

}  // namespace nl::report
