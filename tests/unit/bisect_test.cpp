// Bisection over a list of points whose times are drawn.

#include "lab/bisect/bisect.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <set>

#include "base/files.h"
#include "lab/bisect/point_runs.h"
#include "stats/random.h"

namespace nl::lab {
namespace {

std::vector<BisectPoint> points_of(size_t count) {
  std::vector<BisectPoint> points;
  for (size_t i = 0; i < count; i++)
    points.push_back({"id" + std::to_string(i), "point " + std::to_string(i)});
  return points;
}

class TemporaryFolder {
 public:
  TemporaryFolder() : path_(testing::TempDir() + "bisect-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~TemporaryFolder() { remove_tree(path_); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// A history in which one point made everything behind it slower.
struct History {
  size_t count = 64;
  size_t culprit = 40;
  double slower = 1.05;
  double noise = 0.02;
  std::set<size_t> broken = {};
  std::set<size_t> crashing = {};
  int64_t runs = 0;
  int64_t builds = 0;
  int64_t die_after = -1;  ///< runs
  stats::Random random{7};

  size_t place_of(const BisectPoint& point) const {
    return static_cast<size_t>(std::stoi(point.id.substr(2)));
  }
  double drawn() {
    double sum = -6;
    for (int i = 0; i < 12; i++) sum += random.uniform();
    return 1 + noise * sum;
  }
  BisectCalls calls() {
    return {[this](const BisectPoint& point) -> Result<Known<bool>> {
              builds++;
              if (broken.contains(place_of(point))) return Known<bool>::absent("it does not build");
              return Known<bool>(true);
            },
            [this](const BisectPoint& point) -> Result<Known<double>> {
              if (die_after >= 0 && runs >= die_after) return Error{ErrorCode::kIo, "killed"};
              if (crashing.contains(place_of(point))) return Known<double>::absent("it does not run");
              runs++;
              return Known<double>(100 * drawn() * (place_of(point) >= culprit ? slower : 1));
            }};
  }
  Result<BisectAnswer> searched(const BisectOptions& options = {}) {
    return bisect(points_of(count), calls(), options);
  }
};

TEST(Bisect, FindsTheCulpritInNearlyEveryHistory) {
  int right = 0, right_of_small = 0;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    History history;
    history.random = stats::Random(seed);
    history.culprit = 1 + seed % 63;
    const BisectAnswer answer = *history.searched({.seed = seed});
    right += answer.status == BisectStatus::kFound && answer.suspects.size() == 1 &&
             history.place_of(answer.suspects[0]) == history.culprit;
    EXPECT_EQ(answer.runs, history.runs);
    EXPECT_LE(answer.steps.size(), 6U);
    History two{.count = 2, .culprit = 1};
    two.random = stats::Random(seed + 1000);
    right_of_small += two.searched()->status == BisectStatus::kFound;
  }
  EXPECT_GE(right, 57);
  EXPECT_GE(right_of_small, 57);
}

TEST(Bisect, SaysWhatItUsedAgainstASearchPointByPoint) {
  History history;
  const BisectAnswer answer = *history.searched();
  ASSERT_EQ(answer.status, BisectStatus::kFound);
  EXPECT_EQ(history.place_of(*answer.before), 39U);
  EXPECT_EQ(history.place_of(*answer.after), 41U);
  EXPECT_NEAR(answer.change, 1.05, 0.03);
  ASSERT_TRUE(answer.linear_runs);
  EXPECT_GT(*answer.linear_runs, 2 * answer.runs);
  double spent = 0;
  for (const BisectStep& step : answer.steps) spent += step.error;
  EXPECT_LT(spent, answer.error);
}

TEST(Bisect, LeavesOutWhatDoesNotBuildOrRun) {
  History history{.broken = {20, 31, 32, 33}, .crashing = {36}};
  const BisectAnswer answer = *history.searched();
  ASSERT_EQ(answer.status, BisectStatus::kFound);
  EXPECT_EQ(history.place_of(answer.suspects[0]), 40U);
  ASSERT_FALSE(answer.skipped.empty());
  EXPECT_EQ(answer.skipped[0].reason, "it does not build");
}

TEST(Bisect, GivesARangeWhereTheCulpritIsAmongBrokenPoints) {
  History history{.broken = {38, 39, 40, 41, 42}};
  const BisectAnswer answer = *history.searched();
  EXPECT_EQ(answer.status, BisectStatus::kRange);
  ASSERT_EQ(answer.suspects.size(), 6U);  // 38 to 43
  EXPECT_EQ(history.place_of(answer.suspects.front()), 38U);
  EXPECT_EQ(history.place_of(answer.suspects.back()), 43U);
  EXPECT_EQ(history.place_of(*answer.before), 37U);
  EXPECT_EQ(answer.skipped.size(), 5U);
  EXPECT_FALSE(answer.linear_runs);
}

TEST(Bisect, RefusesEndsThatDoNotDiffer) {
  History same{.slower = 1};
  const BisectAnswer answer = *same.searched({.most_pairs = 20});
  EXPECT_EQ(answer.status, BisectStatus::kNoDifference);
  EXPECT_TRUE(answer.suspects.empty());
  EXPECT_TRUE(answer.steps.empty());
  EXPECT_EQ(answer.ends.size(), 20U);
  History turned{.slower = 0.9};
  EXPECT_EQ(turned.searched()->status, BisectStatus::kBadIsFaster);
}

TEST(Bisect, SaysWhenAStepIsNotDecided) {
  History history{.slower = 1.02, .noise = 0.02};
  const BisectAnswer answer = *history.searched({.most_pairs = 40});
  if (answer.status == BisectStatus::kUndecided) {
    EXPECT_GT(answer.suspects.size(), 1U);
  } else {
    EXPECT_NE(answer.status, BisectStatus::kRange);
  }
}

TEST(Bisect, AnEndThatCannotBeMeasuredIsAnError) {
  for (const size_t end : {0, 63}) {
    History broken{.broken = {end}}, crashing{.crashing = {end}};
    EXPECT_EQ(broken.searched().error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(crashing.searched().error().code, ErrorCode::kUnavailable);
  }
  EXPECT_EQ(bisect(points_of(1), History().calls(), {}).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(bisect({{"a", ""}, {"a", ""}}, History().calls(), {}).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(History().searched({.error = 0.6}).error().code, ErrorCode::kBadInput);
}

TEST(Bisect, GoesOnWhereItWasKilled) {
  const TemporaryFolder folder;
  const BisectOptions options = {.values_file = folder.file("values.jsonl"), .task = "t", .machine = "m"};
  History whole;
  const BisectAnswer expected = *whole.searched();
  History killed{.die_after = 41};
  EXPECT_EQ(killed.searched(options).error().code, ErrorCode::kIo);
  std::ofstream(options.values_file, std::ios::app) << R"({"task":"t","machine":"m","good":"id0","poi)";
  History again;
  for (int i = 0; i < 40 * 12; i++) again.random.uniform();  // the values it would have drawn
  const BisectAnswer answer = *again.searched(options);
  EXPECT_EQ(answer.kept_runs, 40);
  EXPECT_EQ(answer.runs, again.runs + 40);
  EXPECT_EQ(answer.runs, expected.runs);
  EXPECT_EQ(answer.suspects.at(0).id, expected.suspects.at(0).id);
  History third{.die_after = 0};
  const BisectAnswer kept = *third.searched(options);
  EXPECT_EQ(kept.kept_runs, kept.runs);
  EXPECT_EQ(third.builds, 0) << "what is known needs no build";
}

TEST(Bisect, ValuesOfAnotherTaskOrMachineAreNotUsed) {
  const TemporaryFolder folder;
  const std::string file = folder.file("values.jsonl");
  History first, other_task, other_machine;
  EXPECT_EQ(first.searched({.values_file = file, .task = "t", .machine = "m"})->kept_runs, 0);
  EXPECT_EQ(other_task.searched({.values_file = file, .task = "u", .machine = "m"})->kept_runs, 0);
  EXPECT_EQ(other_machine.searched({.values_file = file, .task = "t", .machine = "n"})->kept_runs, 0);
}

TEST(Bisect, EachOfAPairIsFirstAsOftenAsTheOther) {
  std::string order;
  History history;
  const BisectCalls calls = history.calls();
  const BisectCalls listening = {calls.prepare, [&](const BisectPoint& point) {
                                   order += point.id == "id0" ? 'G' : 'C';
                                   return calls.measure(point);
                                 }};
  ASSERT_TRUE(bisect(points_of(2), listening, {.most_pairs = 8}).has_value());
  for (size_t block = 0; block + 4 <= order.size(); block += 4) {
    const std::string pairs = order.substr(block, 4);
    EXPECT_TRUE(pairs == "GCCG" || pairs == "CGGC") << pairs;
  }
}

TEST(PrintedTime, IsTheLastOfTheKeyOrPattern) {
  EXPECT_EQ(*printed_time("x=1\ntime_ms=12.5\n time_ms=13.5 \ntime_ms=none\n", "time_ms", ""), 13.5);
  EXPECT_EQ(*printed_time("took 3.25 s, took 4.5 s", "", "took ([0-9.]+) s"), 4.5);
  EXPECT_FALSE(printed_time("time_ms=-1\ntime_ms=inf\n", "time_ms", ""));
  EXPECT_FALSE(printed_time("", "time_ms", ""));
  EXPECT_FALSE(printed_time("abc", "", "(x*)"));
}

}  // namespace
}  // namespace nl::lab
