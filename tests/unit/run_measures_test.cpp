#include "ops/runs/run_measures.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.h"
#include "ops/import/import_file.h"
#include "ops/runs/named_analysis.h"
#include "source_folder.h"

namespace nl::ops {
namespace {

using nlohmann::json;

class RunMeasures : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "neurolens-measures-" + std::to_string(::getpid());
    Context context;
    context.ledger_folder = folder_;
    auto ledger = store::Ledger::open(folder_);
    ASSERT_TRUE(ledger);
    const auto report = import_files(context, *ledger, {source_folder() + "/samples/kineto_small.json"}, {});
    ASSERT_TRUE(report);
    run_ = NamedRun{report->run_id, ledger->run_folder(report->run_id)};
  }
  void TearDown() override { remove_tree(folder_); }

  std::string kept() const { return run_.bundle + "/derived/measures-" + measures_version(); }

  std::string folder_;
  NamedRun run_;
};

TEST_F(RunMeasures, AreThoseOfTheAnalysis) {
  const auto measures = run_measures(run_);
  ASSERT_TRUE(measures) << measures.error().message;
  const auto analysis = analyze::analyze_run(open_derived(run_).value(), {.window = "whole"});
  ASSERT_TRUE(analysis);
  ASSERT_EQ((*measures)["devices"].size(), analysis->devices.size());
  for (size_t i = 0; i < analysis->devices.size(); i++) {
    const json& device = (*measures)["devices"][i];
    for (const auto& metric : analyze::all_metrics()) {
      const auto& expected = analysis->devices[i].metrics.get(*analyze::find_metric(metric.id));
      const auto found = measured(device, metric.id);
      ASSERT_EQ(found.has_value(), expected.has_value()) << metric.id;
      EXPECT_EQ(found.reason(), expected.reason()) << metric.id;
      EXPECT_DOUBLE_EQ(found.value_or(0), expected.value_or(0)) << metric.id;
    }
    const json& sum = device["decomposition"];
    EXPECT_EQ(sum["compute_ns"].get<int64_t>() + sum["exposed_comm_ns"].get<int64_t>() +
                  sum["exposed_copy_ns"].get<int64_t>() + sum["idle_ns"].get<int64_t>(),
              sum["window_ns"]);
  }
}

TEST_F(RunMeasures, KernelsAddUpToTheirMetric) {
  const auto measures = run_measures(run_);
  ASSERT_TRUE(measures);
  int64_t kernels = 0, expected = 0;
  for (const json& row : (*measures)["kernels"]) {
    if (!row["is_copy"]) kernels += row["total_ns"].get<int64_t>();
  }
  for (const json& device : (*measures)["devices"])
    expected += static_cast<int64_t>(*measured(device, "kernel_sum_time"));
  EXPECT_GT(kernels, 0);
  EXPECT_EQ(kernels, expected);
}

TEST_F(RunMeasures, KeptOnesReadTheSame) {
  const auto first = run_measures(run_);
  ASSERT_TRUE(first);
  ASSERT_TRUE(path_exists(kept() + "/measures.json"));
  const auto text = read_file(kept() + "/measures.json");
  EXPECT_EQ(*first, *run_measures(run_));
  const auto figures = run_measures(run_, MeasureDetail::kFigures);
  ASSERT_TRUE(figures);
  EXPECT_FALSE(figures->contains("kernels"));
  EXPECT_EQ((*figures)["devices"], (*first)["devices"]);
  remove_tree(kept());
  EXPECT_EQ(*first, *run_measures(run_));
  EXPECT_EQ(*text, *read_file(kept() + "/measures.json"));
}

TEST_F(RunMeasures, DamagedOnesAreReplacedAndOldOnesGo) {
  const auto first = run_measures(run_);
  ASSERT_TRUE(first);
  const std::string other = run_.bundle + "/derived/measures-0-000000000000";
  ASSERT_TRUE(make_folders(other));
  for (const char* damage : {"", "{", "[1]", R"({"schema":"neurolens.measures/1","run_id":"another"})"}) {
    for (const char* file : {"/measures.json", "/tables.json"}) {
      ASSERT_TRUE(write_file_durably(kept() + file, damage));
      EXPECT_EQ(*first, *run_measures(run_)) << file << damage;
    }
  }
  EXPECT_FALSE(path_exists(other));
  EXPECT_EQ(list_folder(kept()), (std::vector<std::string>{"measures.json", "tables.json"}));
}

TEST_F(RunMeasures, AFolderThatCannotBeWrittenAnswersAllTheSame) {
  const auto first = run_measures(run_);
  ASSERT_TRUE(first);
  remove_tree(kept());
  ASSERT_TRUE(write_file_durably(kept(), "a file in the place of the folder"));
  EXPECT_EQ(*first, *run_measures(run_));
}

}  // namespace
}  // namespace nl::ops
