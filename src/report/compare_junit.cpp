#include "report/compare_junit.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/json.h"
#include "base/number_text.h"
#include "report/escape.h"

namespace nl::report {
namespace {

using compare::ChangeRow;
using compare::Comparison;
using compare::LimitCheck;
using compare::PartRow;
using compare::Statistics;
using stats::Verdict;

enum class State { kPassed, kFailed, kSkipped };

struct TestCase {
  std::string group;  ///< window, limit, part or change
  std::string name;
  int64_t new_ns = 0;
  State state = State::kPassed;
  std::string message = {};
  std::string failure = "regression";  ///< why it failed, if it did
  bool is_judged = true;               ///< false: it says something and decides nothing
  std::vector<std::pair<std::string, std::string>> properties = {};
};

/// Names are visible() first: XML allows no control characters, however they are escaped.
std::string xml(const std::string& text) {
  return html_name(text, 2000);
}

State state_of(Verdict verdict) {
  if (verdict == Verdict::kRegression) return State::kFailed;
  return verdict == Verdict::kImprovement || verdict == Verdict::kNoChange ? State::kPassed : State::kSkipped;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : "; ") + text;
  return out;
}

/// A part, a change or the window.
struct Row {
  int64_t base_ns, new_ns, delta_ns;
  const Statistics& statistics;
};

/// As JSON writes it: null if it is infinite.
std::string number_text(double value) {
  return nlohmann::json(value).dump();
}

void add_figures(TestCase& test, const Row& row) {
  const auto add = [&](const char* name, std::string text) {
    test.properties.emplace_back(name, std::move(text));
  };
  const auto add_if_any = [&](const char* name, std::optional<double> value) {
    if (value) add(name, number_text(*value));
  };
  add("base_ns", std::to_string(row.base_ns));
  add("new_ns", std::to_string(row.new_ns));
  add("delta_ns", std::to_string(row.delta_ns));
  const Statistics& statistics = row.statistics;
  add("verdict", std::string(stats::verdict_name(statistics.verdict)));
  add("base_runs", std::to_string(statistics.base.n));
  add("new_runs", std::to_string(statistics.next.n));
  add_if_any("ratio", statistics.ratio);
  add_if_any("p", statistics.p);
  add_if_any("p_adjusted", statistics.p_adjusted);
  add_if_any("cliffs_delta", statistics.cliffs_delta);
  if (statistics.runs_needed) add("runs_needed", std::to_string(*statistics.runs_needed));
  if (!statistics.ratio_interval) return;
  add("ratio_low", number_text(statistics.ratio_interval->low));
  add("ratio_high", number_text(statistics.ratio_interval->high));
}

TestCase window_case(const Comparison& comparison) {
  TestCase test{"window", comparison.unit, comparison.next.window_ns};
  test.message = headline(comparison);
  add_figures(test, {comparison.base.window_ns, comparison.next.window_ns, comparison.delta_ns,
                     comparison.statistics});
  test.state = state_of(comparison.verdict);
  if (!comparison.reasons.empty()) test.message += ": " + joined(comparison.reasons);
  if (!comparison.gate) return test;
  const auto& failed_on = comparison.gate->failed_on;
  const bool failed = std::find(failed_on.begin(), failed_on.end(), compare::kGateWindow) != failed_on.end();
  test.state = failed ? State::kFailed : State::kPassed;
  test.message += ": " + comparison.gate->reason;
  if (comparison.verdict != Verdict::kRegression) test.failure = "gate";
  return test;
}

std::string row_message(const Row& row) {
  const Statistics& statistics = row.statistics;
  std::string out =
      fmt::format("{}: {} → {}, {}", verdict_title(statistics.verdict), duration_text(row.base_ns),
                  duration_text(row.new_ns), signed_duration_text(row.delta_ns));
  if (statistics.ratio_interval) out += "; " + tested_words(statistics);
  return statistics.reason ? out + ": " + *statistics.reason : out;
}

/// A part or a change says where the difference is. What is decided is the window and the limits: a part that
/// became slower while the window did not is no failure.
TestCase informative_case(const char* group, std::string name, const Row& row, const Comparison& comparison) {
  TestCase test{group, std::move(name), row.new_ns, State::kPassed, row_message(row)};
  add_figures(test, row);
  test.is_judged = false;
  const bool is_told = state_of(row.statistics.verdict) != State::kSkipped;
  if (comparison.verdict == Verdict::kIncomparable || !is_told) test.state = State::kSkipped;
  return test;
}

Row row_of(const ChangeRow& change) {
  const auto time = [](const std::optional<compare::WorkAmount>& amount) {
    return amount ? amount->time_ns : 0;
  };
  return {time(change.base), time(change.next), change.delta_ns, *change.statistics};
}

TestCase limit_case(const LimitCheck& limit) {
  TestCase test{"limit",
                limit_title(limit),
                limit.value_ns.value_or(0),
                limit.met ? State::kPassed : State::kFailed,
                limit_title(limit) + ", is " + limit_value(limit),
                "limit"};
  if (limit.value_ns) test.properties.emplace_back("value_ns", std::to_string(*limit.value_ns));
  if (limit.share) test.properties.emplace_back("share", number_text(*limit.share));
  return test;
}

std::vector<TestCase> cases_of(const Comparison& comparison) {
  std::vector<TestCase> tests = {window_case(comparison)};
  for (const LimitCheck& limit : comparison.expectations) tests.push_back(limit_case(limit));
  for (const PartRow& part : comparison.parts) {
    if (part.statistics)
      tests.push_back(informative_case("part", part_title(part),
                                       {part.base_ns, part.new_ns, part.delta_ns, *part.statistics},
                                       comparison));
  }
  const auto names = change_names(comparison);
  for (size_t i = 0; i < names.size(); i++) {
    const ChangeRow& change = comparison.changes[i];
    if (change.statistics) tests.push_back(informative_case("change", names[i], row_of(change), comparison));
  }
  return tests;
}

/// CI systems know a test by its name.
void make_names_unique(std::vector<TestCase>& tests) {
  std::map<std::pair<std::string, std::string>, int> seen;
  for (TestCase& test : tests) {
    test.name = test.name.empty() ? "(no name)" : visible(test.name);
    if (const int number = ++seen[{test.group, test.name}]; number > 1)
      test.name += fmt::format(" ({})", number);
  }
}

std::string property_xml(const std::string& name, const std::string& value) {
  return fmt::format("<property name=\"{}\" value=\"{}\"/>", name, xml(value));
}

std::string state_xml(const TestCase& test) {
  if (test.state == State::kSkipped) return fmt::format("<skipped message=\"{}\"/>", xml(test.message));
  if (test.state == State::kPassed)
    return test.is_judged ? "" : fmt::format("<system-out>{}</system-out>", xml(test.message));
  return fmt::format("<failure type=\"{1}\" message=\"{0}\">{0}</failure>", xml(test.message), test.failure);
}

std::string case_xml(const TestCase& test) {
  std::string properties;
  for (const auto& [name, value] : test.properties) properties += property_xml(name, value);
  return fmt::format(
      "    <testcase classname=\"neurolens.{}\" name=\"{}\" time=\"{}.{:09}\">\n"
      "      <properties>{}</properties>{}\n    </testcase>\n",
      test.group, xml(test.name), std::max<int64_t>(0, test.new_ns) / 1'000'000'000,
      std::max<int64_t>(0, test.new_ns) % 1'000'000'000, properties, state_xml(test));
}

std::string suite_properties(const Comparison& comparison, const CompareProvenance& provenance) {
  std::string out = property_xml("sentence", comparison.sentence) +
                    property_xml("verdict", std::string(stats::verdict_name(comparison.verdict))) +
                    property_xml("mode", std::string(compare::mode_name(comparison.mode))) +
                    property_xml("comparability", number_text(comparison.comparability.score)) +
                    property_xml("window", comparison.base.window) + property_xml("unit", comparison.unit);
  for (const std::string& run : comparison.base.runs) out += property_xml("base_run", run);
  for (const std::string& run : comparison.next.runs) out += property_xml("new_run", run);
  for (const std::string& line : comparison.differences) out += property_xml("difference", line);
  return out + property_xml("command", provenance.command) +
         property_xml("tool_version", provenance.tool_version);
}

}  // namespace

std::string compare_junit(const Comparison& comparison, const CompareProvenance& provenance) {
  auto tests = cases_of(comparison);
  make_names_unique(tests);
  size_t failed = 0, skipped = 0;
  std::string body;
  for (const TestCase& test : tests) {
    failed += test.state == State::kFailed;
    skipped += test.state == State::kSkipped;
    body += case_xml(test);
  }
  const std::string counts =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\"", tests.size(), failed, skipped);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"neurolens compare\" {0}>\n"
      "  <testsuite name=\"{1} with {2}\" {0}>\n    <properties>{3}</properties>\n{4}  </testsuite>\n"
      "</testsuites>\n",
      counts, xml(short_run(comparison.base)), xml(short_run(comparison.next)),
      suite_properties(comparison, provenance), body);
}

}  // namespace nl::report
