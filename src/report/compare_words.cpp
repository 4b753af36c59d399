#include "report/compare_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/number_text.h"

namespace nl::report {

using nlohmann::json;

namespace {

std::string with_blanks(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string joined_names(const json& side) {
  std::string out;
  for (const json& name : side["names"]) out += (out.empty() ? "" : " + ") + name.get<std::string>();
  return out;
}

std::string full_name(const json& change) {
  const json &base = change["base"], &next = change["new"];
  if (base.is_null() || next.is_null()) return joined_names(base.is_null() ? next : base);
  const std::string before = joined_names(base), after = joined_names(next);
  return before == after ? after : before + " → " + after;
}

std::string runs_words(int64_t base, int64_t next) {
  return base == 1 && next == 1 ? "one run a side" : fmt::format("{} and {} runs", base, next);
}

std::string interval_words(const json& interval) {
  if (interval.is_null()) return "";
  return fmt::format(" [{}, {}] at {}", ratio_text(interval["low"]), ratio_text(interval["high"]),
                     percent_text(interval["coverage"]));
}

}  // namespace

std::string verdict_title(const std::string& verdict) {
  return sentence(with_blanks(verdict));
}

std::string sentence(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string change_words(const json& comparison) {
  std::string out = fmt::format("{} → {}, {}", duration_text(comparison["base"]["window_ns"]),
                                duration_text(comparison["new"]["window_ns"]),
                                signed_duration_text(comparison["delta_ns"]));
  if (comparison["ratio"].is_null()) return out;
  return out + " (" + signed_percent_text(comparison["ratio"].get<double>() - 1) + ")";
}

std::string headline(const json& comparison) {
  return fmt::format("{}: {} {}", verdict_title(comparison["verdict"]), comparison["unit"].get<std::string>(),
                     change_words(comparison));
}

std::string tested_words(const json& statistics) {
  std::string out = runs_words(statistics["base"]["n"], statistics["new"]["n"]);
  if (statistics["ratio_interval"].is_null()) return out;
  out += ", ratio " + ratio_text(statistics.value("ratio", json())) +
         interval_words(statistics["ratio_interval"]);
  return statistics.contains("p_adjusted") ? out + ", p " + p_text({{"statistics", statistics}}) : out;
}

std::string unit_words(const json& comparison) {
  const std::string unit = comparison["unit"];
  const int64_t base = comparison["base"]["units"], next = comparison["new"]["units"];
  if (base == 1 && next == 1) return "one " + unit;
  return fmt::format("a {}, the mean of {} and {}", unit, grouped(base), grouped(next));
}

std::string part_title(const json& part) {
  const std::string kind = part["kind"], name = part["name"];
  return with_blanks(kind == name ? kind : kind + ": " + name);
}

std::string p_text(const json& row) {
  if (!row.contains("statistics") || !row["statistics"].contains("p_adjusted")) return "-";
  return fmt::format("{:.2g}", row["statistics"]["p_adjusted"].get<double>());
}

std::string judged_text(const json& row) {
  return row.contains("statistics") ? with_blanks(row["statistics"]["verdict"]) : "-";
}

std::string ratio_text(const json& ratio, int digits) {
  if (!ratio.is_number() || !std::isfinite(ratio.get<double>())) return "-";
  return fmt::format("{:.{}f}", ratio.get<double>(), digits);
}

std::string limit_title(const json& limit) {
  return fmt::format("{} {}: at most {}", limit["kind"].get<std::string>(), limit["what"].get<std::string>(),
                     limit["limit"].get<std::string>());
}

std::string limit_value(const json& limit) {
  if (limit["value_ns"].is_null()) return "nothing of that name is there";
  return fmt::format("{}, {} of the window", duration_text(limit["value_ns"]), percent_text(limit["share"]));
}

std::vector<std::string> change_names(const json& comparison) {
  std::map<std::string, int> times;
  for (const json& change : comparison["changes"]) times[change["name"]]++;
  std::vector<std::string> names;
  for (const json& change : comparison["changes"])
    names.push_back(times[change["name"]] == 1 ? change["name"].get<std::string>() : full_name(change));
  return names;
}

std::vector<json> unlike_factors(const json& comparison) {
  std::vector<json> unlike;
  for (const json& factor : comparison["comparability"]["factors"]) {
    if (factor["score"] < 1) unlike.push_back(factor);
  }
  std::stable_sort(unlike.begin(), unlike.end(),
                   [](const json& a, const json& b) { return a["score"] < b["score"]; });
  return unlike;
}

std::string short_run(const json& side) {
  return side["run_id"].get<std::string>().substr(0, 12);
}

bool has_repeats(const json& comparison) {
  return comparison["base"]["runs"].size() > 1 || comparison["new"]["runs"].size() > 1;
}

std::vector<std::pair<std::string, std::string>> compare_definitions(const json& comparison) {
  const double bound = comparison["statistics"]["practical_bound"];
  return {
      {"Figures", "Times are those of " + unit_words(comparison) +
                      ", in whole nanoseconds. With several runs a side, the run whose window is the middle "
                      "one stands for its side."},
      {"Parts",
       "Every nanosecond of the window of the device belongs to exactly one part: compute by class, "
       "communication and copies that nothing hides, idle time by cause. The parts of a side add up "
       "to its window, and their differences to the difference."},
      {"Changes",
       "Each piece of work of one side is matched with one of the other, or with none. Rows add up "
       "what is matched under one name. By calls: more or fewer calls at the time that one took in "
       "the base; by duration: the rest of the difference."},
      {"Match", "How sure the matching is, from 0 to 1, weighted by time."},
      {"Comparability",
       "A product of factors, from 0 to 1. Below the floor no verdict is given: the two sides "
       "did different things."},
      {"Repeats", "One value is one run; steps inside a run are no repeats."},
      {"Test",
       "Rank test of Mann and Whitney, exact for few runs; p is adjusted such that of the named changes "
       "of one level at most 5 % are false. The ratio is that of Hodges and Lehmann, with its interval."},
      {"Verdict", fmt::format("Regression or improvement: p below 0.05 and the whole interval of the ratio "
                              "beyond {} of the base. No change: the whole interval within it. Inconclusive: "
                              "the runs cannot tell. Not tested: nothing to test with.",
                              percent_text(bound))}};
}

}  // namespace nl::report
