#include "store/run_index.h"

#include <gtest/gtest.h>

#include <random>

#include "store/run_search.h"

namespace nl::store {
namespace {

IndexedRun run_with(int number, std::map<std::string, std::string> labels) {
  IndexedRun run;
  run.row.run_id = std::string(60, '0') + std::to_string(1000 + number);
  run.row.imported_at_ns = 1'000 + number;
  run.row.format = "kineto";
  run.row.backend = "pytorch";
  run.row.kernels = number;
  run.row.labels = std::move(labels);
  return run;
}

RunIndex empty_index() {
  auto index = RunIndex::open("test", SqliteAccess::kMemory, 0).value();
  EXPECT_TRUE(index.start_over());
  return index;
}

std::vector<int64_t> runs_of(RunIndex& index, const std::string& key, const std::string& value) {
  RunSet set;
  EXPECT_TRUE(read_posting(index.db(), key, value, set));
  std::vector<int64_t> runs;
  set.each([&](int64_t run) { runs.push_back(run); });
  return runs;
}

TEST(Postings, KeepTheirRunsAcrossFormsAndBlocks) {
  RunIndex index = empty_index();
  std::set<int64_t> model;
  std::mt19937 dice(3);
  for (int i = 0; i < 3000; i++) {
    const auto run = static_cast<int64_t>(dice() % 10'000);
    const bool add = dice() % 4 != 0;
    if (add) {
      ASSERT_TRUE(add_posting(index.db(), "key", "value", run));
      model.insert(run);
    } else {
      ASSERT_TRUE(remove_posting(index.db(), "key", "value", run));
      model.erase(run);
    }
  }
  EXPECT_GT(model.size(), 1000U) << "blocks must have become bits";
  EXPECT_EQ(runs_of(index, "key", "value"), std::vector<int64_t>(model.begin(), model.end()));
  for (const int64_t run : model) ASSERT_TRUE(remove_posting(index.db(), "key", "value", run));
  EXPECT_EQ(index.db().integer("SELECT count(*) FROM postings").value(), 0)
      << "an empty block leaves nothing";
}

TEST(RunIndex, FillAndPutGiveTheSame) {
  RunIndex filled = empty_index();
  RunIndex put = empty_index();
  std::vector<IndexedRun> runs;
  for (int i = 0; i < 600; i++) {
    runs.push_back(run_with(i, {{"batch", std::to_string(i % 3)}, {"own", std::to_string(i)}}));
    ASSERT_TRUE(put.put(runs.back()));
  }
  ASSERT_TRUE(filled.fill(runs));
  for (const char* value : {"0", "1", "2"}) {
    EXPECT_EQ(runs_of(filled, "batch", value), runs_of(put, "batch", value));
    EXPECT_EQ(runs_of(filled, "batch", value).size(), 200U);
  }
  EXPECT_EQ(filled.count().value(), 600);
}

TEST(RunIndex, PutAgainMovesARunToItsNewLabels) {
  RunIndex index = empty_index();
  ASSERT_TRUE(index.put(run_with(1, {{"model", "a"}})));
  ASSERT_TRUE(index.put(run_with(2, {{"model", "a"}})));
  ASSERT_TRUE(index.put(run_with(1, {{"model", "b"}})));
  EXPECT_EQ(runs_of(index, "model", "a"), std::vector<int64_t>{2});
  EXPECT_EQ(runs_of(index, "model", "b"), std::vector<int64_t>{1});
  ASSERT_TRUE(index.remove(run_with(1, {}).row.run_id));
  EXPECT_TRUE(runs_of(index, "model", "b").empty());
  EXPECT_EQ(index.count().value(), 1);
}

TEST(RunSearch, NumbersSortAsNumbersAndComeBeforeText) {
  RunIndex index = empty_index();
  int number = 0;
  for (const char* batch : {"16", "auto", "2", "100", "0.5"}) {
    ASSERT_TRUE(index.put(run_with(number++, {{"batch", batch}})));
  }
  ASSERT_TRUE(index.put(run_with(number, {})));
  auto search = RunSearch::start(index, {}).value();
  std::vector<std::string> order;
  const auto rows = search.page({"batch", false}, 10, 0).value();
  for (const auto& row : rows) {
    order.push_back(row.labels.contains("batch") ? row.labels.at("batch") : "none");
  }
  EXPECT_EQ(order, (std::vector<std::string>{"0.5", "2", "16", "100", "auto", "none"}));
}

TEST(RunSearch, ConditionsAreParsedOrRefused) {
  EXPECT_EQ(parse_condition("a!=b=c").value().value, "b=c");
  EXPECT_EQ(parse_condition("batch>=8").value().comparison, Comparison::kAtLeast);
  for (const char* bad : {"", "a", "=", "a>1", "a!b", "A=1", "batch>=x", "records=x", "records~1"}) {
    EXPECT_EQ(parse_condition(bad).error().code, ErrorCode::kBadInput) << bad;
  }
}

}  // namespace
}  // namespace nl::store
