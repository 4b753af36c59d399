// What operations do to a ledger, and what they answer: those that read write nothing but caches, and the
// data of each follows its schema.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "base/json_schema.h"
#include "door/ledger_fixture.h"

namespace nl::ops {
namespace {

using nlohmann::json;

/// Rebuilt at any time from what they were made of.
bool is_cache(const std::string& path) {
  return path.find("/derived/") != std::string::npos || path.starts_with("index.sqlite") ||
         path.starts_with("fingerprints/");
}

class Effects : public LedgerOfSamples {
 protected:
  /// Of every file that is no cache.
  std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
      const std::string path = std::filesystem::relative(entry.path(), ledger()).string();
      if (entry.is_regular_file() && !is_cache(path)) found[path] = read_file(entry.path().string()).value();
    }
    return found;
  }

  /// A call of each operation that answers on this ledger. Those that are not here need a tool or a model:
  /// their end-to-end tests run them.
  std::vector<std::pair<std::string, json>> calls() const {
    const std::string &a = ids_[0], &b = ids_[1], &native = ids_[2];
    return {{"analyze", {{"run", a}}},
            {"analyze", {{"run", native}, {"top", 2}}},
            {"baseline", {{"name", "main"}, {"run", a}}},
            {"compare", {{"runs", {a, b}}}},
            {"compare", {{"runs", {a, b}}, {"gate", true}, {"html", folder_ + "/page.html"}}},
            {"demo", {{"output", folder_ + "/demo"}}},
            {"doctor", json::object()},
            {"explain", {{"metric", "idle_time"}}},
            {"explain", {{"finding", "launch_bound"}}},
            {"explain", {{"run", a}, {"metric", "total_time"}}},
            {"explain", {{"run", a}, {"finding", "launch_bound"}}},
            {"explain", {{"run", native}, {"kernel", "gemm"}}},
            {"explain", {{"run", native}, {"span", "kernels:0"}}},
            {"export", {{"run", native}, {"output", folder_ + "/run.json"}}},
            {"findings", json::object()},
            {"findings", {{"run", a}}},
            {"fingerprint", {{"run", a}}},
            {"gc", {{"reindex", true}}},
            {"import", {{"paths", {sample_path("native_minimal.json")}}}},
            {"import", {{"paths", {sample_path("native_minimal.json"), sample_path("native_full.json")}}}},
            {"label", {{"run", a}, {"labels", {"batch=8", "phase=a"}}}},
            {"lint", {{"run", a}}},
            {"metrics", json::object()},
            {"metrics", {{"name", "idle"}}},
            {"note", {{"run", a}, {"text", "a sentence"}}},
            {"query", {{"run", a}, {"sql", "SELECT name, dur_ns FROM kernels ORDER BY ALL"}}},
            {"report", {{"run", a}, {"output", folder_ + "/reports"}}},
            {"report", {{"verify", folder_ + "/reports/report.json"}}},
            {"rules", json::object()},
            {"rules", {{"action", "show"}, {"targets", {"launch_bound"}}}},
            {"runs", json::object()},
            {"runs", {{"group", "format"}, {"facets", ""}}},
            {"schema", json::object()},
            {"schema", {{"what", "print"}}},
            {"schema", {{"what", "operations"}}},
            {"schema", {{"what", "validate"}, {"target", sample_path("native_full.json")}}},
            {"show", {{"run", a}}},
            {"show", {{"run", native}}},
            {"similar", {{"run", a}}},
            {"redact", {{"reveal", "hukoyijewavuxoqi"}}},
            {"slice", {{"run", a}, {"window", "whole"}}},
            {"state", {{"action", "export"}}},
            {"suggest", {{"run", a}}},
            {"suggest", {{"run", native}, {"top", 1}}},
            {"live", json::object()},
            {"system", json::object()},
            {"tag", {{"run", a}, {"names", {"nightly"}}}},
            {"token", {{"action", "add"}, {"name", "ci"}, {"role", "write"}}},
            {"token", json::object()},
            {"timeline", {{"run", a}}},
            {"triage", {{"run", a}}},
            {"triage", {{"run", native}, {"window", "whole"}}},
            {"outliers", {{"metric", "total_time"}}},
            {"trend", {{"metric", "total_time"}}},
            {"verify", {{"run", a}}},
            {"export", {{"run", native}, {"format", "nlz"}, {"output", folder_ + "/run.nlz"}}},
            {"view", {{"runs", {a}}, {"print", true}}},
            {"delete", {{"run", native}, {"reason", "it was an example"}}}};
  }
};

TEST_F(Effects, DataFollowsTheSchemaOfTheResult) {
  for (const auto& [name, parameters] : calls()) {
    SCOPED_TRACE(name + " " + parameters.dump());
    Context own = context(Effect::kExec);
    const auto outcome = call(name, parameters, own);
    ASSERT_TRUE(outcome) << outcome.error().message;
    const JsonSchema schema(std::string(find_operation(name)->result.text()), name);
    const auto faults = schema.faults(outcome->data, 5);
    ASSERT_TRUE(faults);
    for (const auto& fault : *faults) ADD_FAILURE() << fault_text(fault);
    EXPECT_FALSE(find_operation(name)->text(*outcome, {}).empty() && name != "state");
    for (const auto& next : outcome->next)
      EXPECT_NE(find_operation(next.operation), nullptr) << next.operation;
  }
}

TEST_F(Effects, EveryOperationIsCalledOrNeedsMoreThanALedger) {
  std::set<std::string> called = {"bench", "deep", "profile", "pull", "push", "queue", "record"};
  for (const auto& [name, parameters] : calls()) called.insert(name);
  for (const Operation* operation : all_operations())
    EXPECT_TRUE(called.contains(std::string(operation->name)));
}

TEST_F(Effects, WhoReadsWritesNothingButCaches) {
  must("report", {{"run", ids_[0]}, {"output", folder_ + "/reports"}}, Effect::kWrite);  // one to be verified
  const auto before = contents();
  ASSERT_FALSE(before.empty());
  size_t reads = 0;
  for (const auto& [name, parameters] : calls()) {
    if (effect_of(*find_operation(name), parameters) != Effect::kRead) continue;
    reads++;
    must(name.c_str(), parameters, Effect::kRead);
    ASSERT_EQ(contents(), before) << name;
  }
  EXPECT_GE(reads, 15u);
}

/// A profile becomes a run on the way: reading is not enough for that.
TEST_F(Effects, ImportOnTheWayTakesTheRightToWrite) {
  const auto before = contents();
  const std::string path = sample_path("native_minimal.json");
  for (const char* name :
       {"analyze", "show", "fingerprint", "lint", "similar", "suggest", "triage", "verify"}) {
    Context own = context(Effect::kRead);
    const auto outcome = call(name, {{"run", path}}, own);
    ASSERT_FALSE(outcome) << name;
    EXPECT_EQ(outcome.error().code, ErrorCode::kPermission) << name;
  }
  EXPECT_EQ(contents(), before);
  must("show", {{"run", path}}, Effect::kWrite);
  EXPECT_NE(contents(), before);
}

/// Without host paths a name stands for a run alone: whether there is such a file stays unknown.
TEST_F(Effects, AStrangerCannotNameAFile) {
  Context own = context(Effect::kWrite);
  own.host_paths = false;
  const auto outcome = call("show", {{"run", sample_path("native_minimal.json")}}, own);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace nl::ops
