#include "analyze/rules/prediction.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.h"
#include "store/state.h"

namespace nl::analyze {
namespace {

using store::Prediction;

MetricSet metrics(int64_t total, int64_t step = 0) {
  MetricSet set;
  set.set(Metric::total_time, total);
  if (step > 0) {
    set.set(Metric::step_median, step);
  } else {
    set.absent(Metric::step_median, "no steps");
  }
  return set;
}

Prediction predicted(std::optional<int64_t> gain) {
  return {"r", 1, 1, "run", "0", 500, gain, false, 1000};
}

TEST(PredictionScore, HoldsGainAgainstTheStep) {
  const auto score = score_prediction(predicted(200), metrics(1000, 100), metrics(700, 90));
  EXPECT_EQ(score.basis, "step_median");
  EXPECT_EQ(*score.predicted_ns, 20) << "a fifth of the window is a fifth of a step";
  EXPECT_EQ(*score.measured_ns, 10);
  EXPECT_EQ(*score.ratio, 0.5);
  EXPECT_EQ(*score.relative_error, 1);
  EXPECT_EQ(score.not_resolvable(), "");
}

TEST(PredictionScore, TakesTheWindowUnlessBothHaveSteps) {
  const auto score = score_prediction(predicted(200), metrics(1000, 100), metrics(1100));
  EXPECT_EQ(score.basis, "total_time");
  EXPECT_EQ(*score.predicted_ns, 200);
  EXPECT_EQ(*score.measured_ns, -100) << "it became slower";
  EXPECT_EQ(*score.ratio, -0.5);
  EXPECT_EQ(*score.relative_error, 3);
}

TEST(PredictionScore, IsNotResolvableWithoutBothSides) {
  const Known<MetricSet> none = Absent{"no such window"};
  EXPECT_EQ(score_prediction(predicted(200), metrics(1000), none).not_resolvable(), "no such window");
  EXPECT_EQ(score_prediction(predicted(200), none, metrics(1000)).not_resolvable(), "no such window");
  EXPECT_FALSE(score_prediction(predicted({}), metrics(1000), metrics(900)).not_resolvable().empty());
  EXPECT_EQ(*score_prediction(predicted({}), metrics(1000), metrics(900)).measured_ns, 100);
  EXPECT_FALSE(score_prediction(predicted(0), metrics(1000), metrics(900)).not_resolvable().empty());
  const auto json = to_json(score_prediction(predicted(200), none, none));
  EXPECT_TRUE(json["ratio"].is_null());
  EXPECT_EQ(json["not_resolvable"], "no such window");
}

TEST(PredictionScore, NothingGainedIsAScore) {
  const auto score = score_prediction(predicted(200), metrics(1000), metrics(1000));
  EXPECT_EQ(*score.ratio, 0);
  EXPECT_FALSE(score.relative_error);
  EXPECT_EQ(score.not_resolvable(), "");
}

TEST(Predictions, OneForEachSuggestion) {
  Finding finding{"r", 2, "t", Confidence::kHigh, {}, 500, {}, {}};
  finding.suggestions.push_back({1, "a", 40, true});
  finding.suggestions.push_back({2, "b", Absent{"the metrics do not tell"}});
  const auto all = predictions_of({finding}, "run", "0", 1000);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].suggestion, 1);
  EXPECT_EQ(all[0].gain_ns, 40);
  EXPECT_TRUE(all[0].at_most);
  EXPECT_EQ(all[1].suggestion, 2);
  EXPECT_FALSE(all[1].gain_ns.has_value());
  EXPECT_EQ(all[1].at_stake_ns, 500);
  EXPECT_EQ(all[1].window_ns, 1000);
}

class PredictionState : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "predictions-" + std::to_string(::getpid());
    ASSERT_TRUE(make_folders(folder_));
  }
  void TearDown() override { remove_tree(folder_); }
  store::State open(const std::string& name) {
    return store::State::open(folder_ + "/" + name, store::SqliteAccess::kReadWrite, 1000).value();
  }
  std::string folder_;
  const std::string run_ = std::string(64, 'a');
};

TEST_F(PredictionState, KeepsWhatWasSaidFirst) {
  auto state = open("s");
  EXPECT_EQ(state.add_predictions(run_, {predicted(200), predicted(200)}, {7, "me"}).value(), 1);
  Prediction other = predicted(999);
  EXPECT_EQ(state.add_predictions(run_, {other}, {8, "you"}).value(), 0);
  other.rule_version = 2;
  other.gain_ns.reset();
  EXPECT_EQ(state.add_predictions(run_, {other}, {9, "you"}).value(), 1)
      << "a new version says something new";
  const auto all = state.predictions(run_).value();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].gain_ns, 200);
  EXPECT_EQ(all[0].made.at_ns, 7);
  EXPECT_EQ(all[0].made.user, "me");
  EXPECT_FALSE(all[1].gain_ns.has_value());
  EXPECT_EQ(state.predicted_runs().value(), std::vector<std::string>{run_});
  ASSERT_TRUE(state.forget(run_));
  EXPECT_TRUE(state.predictions(run_).value().empty());
}

TEST_F(PredictionState, GoesThroughExportAndImport) {
  auto state = open("s");
  auto copy = open("t");
  Prediction unknown = predicted({});
  unknown.suggestion = 2;
  ASSERT_TRUE(state.add_predictions(run_, {predicted(200), unknown}, {7, "me"}));
  ASSERT_TRUE(state.export_records([&](const nlohmann::json& record) -> Result<void> {
    EXPECT_TRUE(copy.import_record(record).value());
    EXPECT_FALSE(copy.import_record(record).value()) << "twice is once";
    return {};
  }));
  const auto all = copy.predictions(run_).value();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].gain_ns, 200);
  EXPECT_FALSE(all[1].gain_ns.has_value());
  EXPECT_EQ(all[1].window_ns, 1000);
}

/// A file from before predictions that cannot be written: it is read, and there are none.
TEST_F(PredictionState, AnOldFileIsReadAsItIs) {
  {
    auto state = open("s");
    ASSERT_TRUE(state.add_tags(run_, {"kept"}, {7, "me"}));
    auto db = store::Sqlite::open(folder_ + "/s", 1000).value();
    ASSERT_TRUE(db.run("DROP TABLE predictions"));
    ASSERT_TRUE(db.run("PRAGMA user_version = 1"));
  }
  const std::string before = read_file(folder_ + "/s").value();
  auto state = store::State::open(folder_ + "/s", store::SqliteAccess::kReadOnly, 1000).value();
  EXPECT_TRUE(state.predictions(run_).value().empty());
  EXPECT_EQ(state.tags(run_).value(), std::vector<std::string>{"kept"});
  EXPECT_EQ(read_file(folder_ + "/s").value(), before);
}

}  // namespace
}  // namespace nl::analyze
