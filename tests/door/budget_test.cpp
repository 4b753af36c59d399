// The parameter `budget` at the door: every operation that reads takes it, and its answer keeps it.

#include "ops/budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/json_schema.h"
#include "door/ledger_fixture.h"
#include "ops/envelope.h"

namespace nl::ops {
namespace {

using nlohmann::json;

enum class Counted { kRows, kSections };

/// Rows or entries at a place, bytes of texts, or sections, which count as one; * stands for every row.
int64_t count_at(const json& data, std::string_view where, Counted what) {
  if (where.empty() && what == Counted::kSections) return data.is_object() ? 1 : 0;
  if (where.empty() && data.is_string()) return static_cast<int64_t>(data.get<std::string>().size());
  if (where.empty()) return static_cast<int64_t>(data.size());
  const size_t end = std::min(where.find('/', 1), where.size());
  const std::string step(where.substr(1, end - 1));
  if (step != "*") return data.contains(step) ? count_at(data[step], where.substr(end), what) : 0;
  int64_t count = 0;
  for (const json& row : data) count += count_at(row, where.substr(end), what);
  return count;
}

class Budget : public LedgerOfSamples {
 protected:
  std::vector<std::pair<std::string, json>> calls() const {
    const std::string &a = ids_[0], &b = ids_[1];
    return {{"analyze", {{"run", a}}},
            {"analyze", {{"run", ids_[2]}}},
            {"compare", {{"runs", {a, b}}}},
            {"doctor", json::object()},
            {"explain", {{"run", a}, {"metric", "idle_time"}}},
            {"explain", {{"run", a}, {"finding", "launch_bound"}}},
            {"explain", {{"run", a}, {"kernel", "kernel"}}},
            {"explain", {{"run", a}, {"span", "0"}}},
            {"findings", {{"run", a}}},
            {"fingerprint", {{"run", a}}},
            {"lint", {{"run", a}}},
            {"metrics", json::object()},
            {"note", {{"run", a}}},
            {"query", {{"run", a}, {"sql", "SELECT * FROM spans ORDER BY ALL"}}},
            {"redact", {{"reveal", "hukoyijewavuxoqi"}}},
            {"live", json::object()},
            {"system", json::object()},
            {"rules", json::object()},
            {"rules", {{"action", "show"}, {"targets", {"launch_bound"}}}},
            {"runs", json::object()},
            {"schema", json::object()},
            {"schema", {{"what", "print"}, {"target", "runs"}}},
            {"show", {{"run", a}}},
            {"show", {{"run", ids_[2]}}},
            {"similar", {{"run", a}}},
            {"suggest", {{"run", a}}},
            {"triage", {{"run", a}}},
            {"triage", {{"run", ids_[2]}}},
            {"timeline", {{"run", a}}},
            {"timeline", {{"run", a}, {"what", "area"}}},
            {"timeline", {{"run", a}, {"what", "tile"}}},
            {"timeline", {{"run", a}, {"what", "search"}, {"text", "a"}}},
            {"outliers", {{"metric", "total_time"}}},
            {"trend", {{"metric", "total_time"}}},
            {"verify", {{"run", a}}}};
  }

  Result<Outcome> ask(const std::string& name, json parameters, int64_t tokens) const {
    parameters["budget"] = tokens;
    Context own = context(Effect::kWrite);
    return call(name, parameters, own);
  }
  void expect_keeps(const std::string& name, const Outcome& whole, const Outcome& cut, int64_t tokens) const {
    const Context own = context(Effect::kRead);
    EXPECT_LE(static_cast<int64_t>(compact_json(envelope_of(name, cut, own.spell)).size()) + 1,
              tokens * kBytesPerToken);
    const JsonSchema schema(result_schema(*find_operation(name)).dump(), name);
    const auto faults = schema.faults(cut.data, 5);
    ASSERT_TRUE(faults);
    for (const auto& fault : *faults) ADD_FAILURE() << fault_text(fault);
    const bool is_steady = name != "doctor";  // that says how much room the disk has
    EXPECT_TRUE(!is_steady || cut.left_out.is_null() == (cut.data == whole.data));
    for (const json& one : cut.left_out) expect_adds_up(one, whole.data, cut.data);
  }
  static void expect_adds_up(const json& entry, const json& whole, const json& cut) {
    const std::string where = entry["where"];
    const int64_t rows = entry["rows"], of = entry["of"];
    EXPECT_GT(rows, 0) << where;
    const auto adds_up = [&](Counted what) {
      return count_at(whole, where, what) == of && count_at(cut, where, what) + rows == of;
    };
    EXPECT_TRUE(adds_up(Counted::kRows) || adds_up(Counted::kSections)) << entry;
  }
};

TEST_F(Budget, EveryOperationThatReadsKeepsIt) {
  for (const auto& [name, parameters] : calls()) {
    Context own = context(Effect::kWrite);
    const auto whole = call(name, parameters, own);
    ASSERT_TRUE(whole) << name << whole.error().message;
    int64_t least = 0;
    for (const int64_t tokens : {100, 200, 350, 500, 700, 1'000, 1'500, 2'500, 5'000, 20'000}) {
      SCOPED_TRACE(name + " " + parameters.dump() + " " + std::to_string(tokens));
      const auto cut = ask(name, parameters, tokens);
      if (!cut) {
        EXPECT_EQ(cut.error().code, ErrorCode::kLimit) << cut.error().message;
        least = std::stoll(cut.error().hint.substr(cut.error().hint.rfind(' ')));
        EXPECT_GT(least, tokens);
        continue;
      }
      EXPECT_GE(tokens, least);
      expect_keeps(name, *whole, *cut, tokens);
    }
    if (least == 0) continue;
    SCOPED_TRACE(name + " " + parameters.dump() + ", at least " + std::to_string(least));
    const auto skeleton = ask(name, parameters, least);
    ASSERT_TRUE(skeleton) << skeleton.error().message;
    expect_keeps(name, *whole, *skeleton, least);
    EXPECT_FALSE(least > 100 && ask(name, parameters, least - 1));
  }
}

TEST_F(Budget, IsTakenByWhateverReads) {
  std::set<std::string> asked;
  for (const auto& [name, parameters] : calls()) asked.insert(name);
  asked.insert({"bench", "queue"});  // they run programs: end-to-end tests ask them with a budget
  for (const Operation* operation : all_operations()) {
    const std::string name(operation->name);
    EXPECT_EQ(has_budget(*operation), asked.contains(name)) << name;
    EXPECT_EQ(parameters_schema(*operation)["properties"].contains("budget"), asked.contains(name)) << name;
  }
}

TEST_F(Budget, LeavesTheVerdict) {
  Context own = context(Effect::kRead);
  const auto whole = call("analyze", {{"run", ids_[0]}}, own);
  ASSERT_TRUE(whole);
  const auto cut = ask("analyze", {{"run", ids_[0]}}, 700);
  ASSERT_TRUE(cut) << cut.error().message << cut.error().hint;
  EXPECT_EQ(cut->data["limiters"][0], whole->data["limiters"][0]);
  EXPECT_EQ(cut->data["window"]["name"], whole->data["window"]["name"]);
}

}  // namespace
}  // namespace nl::ops
