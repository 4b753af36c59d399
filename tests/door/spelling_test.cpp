#include "cli/spelling.h"

#include <gtest/gtest.h>

#include "ops/envelope.h"

namespace nl::cli {
namespace {

using nlohmann::json;

TEST(Spelling, PutsWordsIntoTheirPlaces) {
  const auto line = [](const char* operation, const char* parameters) {
    return spelled({operation, parameters});
  };
  EXPECT_EQ(line("runs", "{}"), "neurolens runs");
  EXPECT_EQ(line("analyze", R"({"run": "0123", "window": "step:0"})"),
            "neurolens analyze 0123 --window step:0");
  EXPECT_EQ(line("import", R"({"refresh": true, "paths": ["FILE"]})"), "neurolens import --refresh FILE");
  EXPECT_EQ(line("import", R"({"refresh": false, "paths": ["a", "b"]})"), "neurolens import a b");
  EXPECT_EQ(line("compare", R"({"base": ["A", "B"], "new": ["C"], "top": 8})"),
            "neurolens compare --base A B --new C --top 8");
  EXPECT_EQ(line("runs", R"({"where": ["model=a", "batch>=8"]})"),
            "neurolens runs --where model=a --where 'batch>=8'");
  EXPECT_EQ(line("runs", R"({"facets": ""})"), "neurolens runs --facets");
  EXPECT_EQ(line("trend", R"({"group_by": "model"})"), "neurolens trend --group-by model");
  EXPECT_EQ(line("record", R"({"ring": 64, "command": ["python", "a.py"]})"),
            "neurolens record --ring 64 -- python a.py");
  EXPECT_EQ(line("query", R"({"run": "@latest", "sql": "SELECT 1"})"),
            "neurolens query @latest \"SELECT 1\"");
  EXPECT_EQ(line("query", R"({"run": "@latest", "sql": "SELECT \"a\""})"),
            "neurolens query @latest 'SELECT \"a\"'");
  EXPECT_EQ(line("view", R"({"runs": ["my folder/page.html"]})"), "neurolens view 'my folder/page.html'");
  EXPECT_EQ(line("show", R"({"run": "trace.json.gz"})"), "neurolens trace.json.gz");
  EXPECT_EQ(line("show", R"({"run": "@baseline:v1.2"})"), "neurolens show @baseline:v1.2");
}

TEST(Spelling, PutsCallsIntoHints) {
  EXPECT_EQ(ops::hint_of({ErrorCode::kNotFound, "", "nothing to do"}, spelled), "nothing to do");
  EXPECT_EQ(ops::hint_of({ErrorCode::kNotFound, "", "{} lists them", {{"runs"}}}, spelled),
            "neurolens runs lists them");
  EXPECT_EQ(ops::hint_of({ErrorCode::kNotFound, "", "{}, then {}", {{"runs"}, {"show", R"({"run": "A"})"}}},
                         spelled),
            "neurolens runs, then neurolens show A");
}

TEST(Spelling, HasAnExampleForEveryVerb) {
  for (const auto* operation : ops::all_operations()) {
    EXPECT_TRUE(spelled_example(*operation).starts_with("neurolens " + std::string(operation->name)))
        << spelled_example(*operation);
  }
}

}  // namespace
}  // namespace nl::cli
