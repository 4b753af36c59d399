#include "report/compare_junit.h"

#include <fmt/core.h>

#include <map>
#include <vector>

#include "base/number_text.h"
#include "report/escape.h"

namespace nl::report {
namespace {

using nlohmann::json;

enum class State { kPassed, kFailed, kSkipped };

struct TestCase {
  std::string group;  ///< window, limit, part or change
  std::string name;
  int64_t new_ns = 0;
  State state = State::kPassed;
  std::string message = {};
  std::string failure = "regression";  ///< why it failed, if it did
  std::vector<std::pair<std::string, std::string>> properties = {};
};

/// Names are visible() first: XML allows no control characters, however they are escaped.
std::string xml(const std::string& text) {
  return html_name(text, 2000);
}

State state_of(const std::string& verdict) {
  if (verdict == "regression") return State::kFailed;
  return verdict == "improvement" || verdict == "no_change" ? State::kPassed : State::kSkipped;
}

std::string joined(const json& texts) {
  std::string out;
  for (const json& text : texts) out += (out.empty() ? "" : "; ") + text.get<std::string>();
  return out;
}

void add_figures(TestCase& test, const json& row) {
  for (const char* key : {"base_ns", "new_ns", "delta_ns"}) {
    if (row.contains(key)) test.properties.emplace_back(key, row[key].dump());
  }
  if (!row.contains("statistics")) return;
  const json& statistics = row["statistics"];
  test.properties.emplace_back("verdict", statistics["verdict"]);
  test.properties.emplace_back("base_runs", statistics["base"]["n"].dump());
  test.properties.emplace_back("new_runs", statistics["new"]["n"].dump());
  for (const char* key : {"ratio", "p", "p_adjusted", "cliffs_delta", "runs_needed"}) {
    if (statistics.contains(key)) test.properties.emplace_back(key, statistics[key].dump());
  }
  if (const json& interval = statistics["ratio_interval"]; !interval.is_null()) {
    test.properties.emplace_back("ratio_low", interval["low"].dump());
    test.properties.emplace_back("ratio_high", interval["high"].dump());
  }
}

json window_row(const json& comparison) {
  return {{"base_ns", comparison["base"]["window_ns"]},
          {"new_ns", comparison["new"]["window_ns"]},
          {"delta_ns", comparison["delta_ns"]},
          {"statistics", comparison["statistics"]}};
}

TestCase window_case(const json& comparison) {
  TestCase test{"window", comparison["unit"], comparison["new"]["window_ns"]};
  test.message = headline(comparison);
  add_figures(test, window_row(comparison));
  test.state = state_of(comparison["verdict"]);
  if (!comparison["reasons"].empty()) test.message += ": " + joined(comparison["reasons"]);
  if (!comparison.contains("gate")) return test;
  test.state = comparison["gate"]["passed"].get<bool>() ? State::kPassed : State::kFailed;
  test.message += ": " + comparison["gate"]["reason"].get<std::string>();
  if (comparison["verdict"] != "regression") test.failure = "gate";
  return test;
}

std::string row_message(const json& row) {
  std::string out = fmt::format("{}: {} → {}, {}", verdict_title(row["statistics"]["verdict"]),
                                duration_text(row["base_ns"]), duration_text(row["new_ns"]),
                                signed_duration_text(row["delta_ns"]));
  const json& statistics = row["statistics"];
  if (!statistics["ratio_interval"].is_null()) out += "; " + tested_words(statistics);
  return statistics.contains("reason") ? out + ": " + statistics["reason"].get<std::string>() : out;
}

/// Of two sides that cannot be compared, nothing can be a regression.
TestCase judged_case(const char* group, std::string name, const json& row, const json& comparison) {
  TestCase test{group, std::move(name), row["new_ns"], State::kSkipped, row_message(row)};
  add_figures(test, row);
  if (comparison["verdict"] != "incomparable") test.state = state_of(row["statistics"]["verdict"]);
  return test;
}

json row_of_change(const json& change) {
  const auto time = [](const json& side) { return side.is_null() ? json(0) : side["time_ns"]; };
  return {{"base_ns", time(change["base"])},
          {"new_ns", time(change["new"])},
          {"delta_ns", change["delta_ns"]},
          {"statistics", change["statistics"]}};
}

TestCase limit_case(const json& limit) {
  const bool met = limit["met"];
  TestCase test{"limit",
                limit_title(limit),
                limit["value_ns"].is_null() ? 0 : limit["value_ns"].get<int64_t>(),
                met ? State::kPassed : State::kFailed,
                limit_title(limit) + ", is " + limit_value(limit),
                "limit"};
  for (const char* key : {"value_ns", "share"}) {
    if (!limit[key].is_null()) test.properties.emplace_back(key, limit[key].dump());
  }
  return test;
}

std::vector<TestCase> cases_of(const json& comparison) {
  std::vector<TestCase> tests = {window_case(comparison)};
  for (const json& limit : comparison.value("expectations", json::array()))
    tests.push_back(limit_case(limit));
  for (const json& part : comparison["parts"]) {
    if (part.contains("statistics")) tests.push_back(judged_case("part", part_title(part), part, comparison));
  }
  const auto names = change_names(comparison);
  for (size_t i = 0; i < names.size(); i++) {
    const json& change = comparison["changes"][i];
    if (change.contains("statistics"))
      tests.push_back(judged_case("change", names[i], row_of_change(change), comparison));
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
  if (test.state == State::kPassed) return "";
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

std::string suite_properties(const json& comparison, const CompareProvenance& provenance) {
  std::string out =
      property_xml("verdict", comparison["verdict"]) + property_xml("mode", comparison["mode"]) +
      property_xml("comparability", comparison["comparability"]["score"].dump()) +
      property_xml("window", comparison["base"]["window"]) + property_xml("unit", comparison["unit"]);
  for (const char* side : {"base", "new"}) {
    for (const json& run : comparison[side]["runs"]) out += property_xml(std::string(side) + "_run", run);
  }
  for (const json& line : comparison["differences"]) out += property_xml("difference", line);
  return out + property_xml("command", provenance.command) +
         property_xml("tool_version", provenance.tool_version);
}

}  // namespace

std::string compare_junit(const json& comparison, const CompareProvenance& provenance) {
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
      counts, xml(short_run(comparison["base"])), xml(short_run(comparison["new"])),
      suite_properties(comparison, provenance), body);
}

}  // namespace nl::report
