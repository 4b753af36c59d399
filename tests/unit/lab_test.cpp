// The lab without processes: order of runs, what disturbs a machine, samples on disk, verdicts of claims.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/aside.h"
#include "base/json.h"
#include "base/printed_values.h"
#include "lab/machine/conditions.h"
#include "lab/machine/gpu_conditions.h"
#include "lab/run/claim_result.h"
#include "lab/run/expectation_update.h"
#include "lab/run/schedule.h"
#include "lab/targets/bench_file.h"
#include "lab/targets/target_check.h"
#include "stats/random.h"

namespace nl::lab {
namespace {

FolderAside new_folder() {
  return FolderAside::create(testing::TempDir() + "/neurolens-lab-").value();
}

// ---- Order

TEST(LabSchedule, BlocksAreMirroredAndHoldEachSideTwice) {
  for (size_t sides = 2; sides <= 5; sides++) {
    for (int64_t block = 0; block < 50; block++) {
      const auto order = block_order(sides, 7, block);
      ASSERT_EQ(order.size(), 2 * sides);
      EXPECT_TRUE(std::equal(order.begin(), order.begin() + static_cast<int64_t>(sides), order.rbegin()));
      EXPECT_EQ(std::set<size_t>(order.begin(), order.end()).size(), sides);
    }
  }
}

TEST(LabSchedule, EachSideBeginsAsOftenAsTheOthers) {
  std::vector<int> first(3);
  for (int64_t block = 0; block < 3000; block++) first[block_order(3, 1, block)[0]]++;
  for (const int count : first) EXPECT_NEAR(count, 1000, 120);  // 4 standard deviations
  EXPECT_EQ(block_order(3, 9, 4), block_order(3, 9, 4));
}

// ---- Machine

class Machine : public ::testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) {
    const auto file = std::filesystem::path(root_.path() + path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  /// By id.
  std::map<std::string, MachineCheck> checks(const std::map<std::string, std::string>& allowed = {}) {
    const Environment nothing({}, "/");
    std::map<std::string, MachineCheck> found;
    for (const MachineCheck& check : judge_machine(nothing, allowed, root_.path()).checks)
      found[check.id] = check;
    return found;
  }
  FolderAside root_ = new_folder();
};

TEST_F(Machine, ThatShowsNothingIsNotFitForThat) {
  auto found = checks();
  for (const char* const id :
       {"governor", "turbo", "smt", "memory", "others", "stolen", "throttled", "gpus"}) {
    EXPECT_EQ(found[id].state, CheckState::kAbsent) << id;
    EXPECT_FALSE(found[id].what.empty()) << id;
  }
}

TEST_F(Machine, GovernorTurboAndSmtAreJudged) {
  for (int i = 0; i < 256; i++)
    put("/sys/devices/system/cpu/cpu" + std::to_string(i) + "/cpufreq/scaling_governor",
        i == 0 ? "performance" : "powersave");
  put("/sys/devices/system/cpu/intel_pstate/no_turbo", "0");
  put("/sys/devices/system/cpu/smt/active", "1");
  auto found = checks();
  EXPECT_EQ(found["turbo"].state, CheckState::kUnfit);
  EXPECT_EQ(found["smt"].state, CheckState::kUnfit);
  if (found["governor"].what.find("powersave") !=
      std::string::npos) {  // this test may run on the first processor alone
    EXPECT_EQ(found["governor"].state, CheckState::kUnfit);
  }
  put("/sys/devices/system/cpu/intel_pstate/no_turbo", "1");
  put("/sys/devices/system/cpu/smt/active", "0");
  found = checks();
  EXPECT_EQ(found["turbo"].state, CheckState::kFit);
  EXPECT_EQ(found["smt"].state, CheckState::kFit);
}

TEST_F(Machine, WhatIsAllowedKeepsItsReason) {
  put("/sys/devices/system/cpu/smt/active", "1");
  const MachineCheck allowed = checks({{"smt", "rented"}})["smt"];
  EXPECT_EQ(allowed.state, CheckState::kAllowed);
  EXPECT_EQ(allowed.allowed_because, "rented");
  EXPECT_EQ(checks({{"turbo", "rented"}})["smt"].state, CheckState::kUnfit);
}

TEST_F(Machine, ReadsBothVersionsOfControlGroups) {
  put("/sys/fs/cgroup/cpu.stat", "usage_usec 12\nthrottled_usec 7");
  EXPECT_EQ(read_machine(root_.path()).group_throttled_ns, 7000);
  put("/sys/fs/cgroup/cpu/cpu.stat", "nr_periods 2\nthrottled_time 9");
  EXPECT_EQ(read_machine(root_.path()).group_throttled_ns, 9);
}

TEST(LabConditions, OthersAreWhatIsBusyWithoutTheRun) {
  MachineReading before, after;
  after.monotonic_ns = 1'000'000'000;
  before.busy_ns = 0;
  after.busy_ns = 1'500'000'000;
  before.stolen_ns = after.stolen_ns = 0;
  const RunConditions quiet = conditions_between(before, after, 1'480'000'000);
  EXPECT_DOUBLE_EQ(*quiet.others_busy, 0.02);
  EXPECT_TRUE(quiet.marks.empty());
  const RunConditions busy = conditions_between(before, after, 500'000'000);
  EXPECT_DOUBLE_EQ(*busy.others_busy, 1);
  EXPECT_EQ(busy.marks, std::vector<std::string>{"others_busy"});
}

TEST(LabConditions, AShortRunIsNotBlamedForTicks) {
  MachineReading before, after;
  after.monotonic_ns = 20'000'000;
  before.busy_ns = 0;
  after.busy_ns = 40'000'000;  // two ticks on two processors
  EXPECT_TRUE(conditions_between(before, after, 5'000'000).marks.empty());
}

TEST(LabConditions, ThrottlingIsMarkedAndAbsenceSaid) {
  MachineReading before, after;
  after.monotonic_ns = 1;
  before.throttles = 3;
  after.throttles = 4;
  const RunConditions run = conditions_between(before, after, 0);
  EXPECT_EQ(run.marks, std::vector<std::string>{"throttled"});
  EXPECT_EQ(run.absent.count("others_busy"), 1U);
  EXPECT_EQ(run.absent.count("khz"), 1U);
  EXPECT_EQ(run.absent.count("throttles"), 0U);
}

// ---- Samples

TEST(LabSamples, ALineThatWasCutShortSpoilsNoOther) {
  const FolderAside folder = new_folder();
  const std::string path = folder.path() + "/samples.jsonl";
  Sample sample;
  sample.target = "t\n\"ü";
  sample.side = "baseline";
  sample.value_ns = 123;
  sample.iterations_ns = {1, 2};
  sample.first_ns = 9;
  const LinesFile file(path);
  ASSERT_TRUE(file.append(to_json_tree(sample)));
  std::ofstream(path, std::ios::app) << "{\"target\": \"half";  // a crash
  ASSERT_TRUE(file.append(to_json_tree(sample)));
  const auto lines = file.read();
  ASSERT_TRUE(lines);
  ASSERT_EQ(lines->size(), 2U);
  for (const auto& line : *lines) {
    const auto read = sample_of(line);
    ASSERT_TRUE(read);
    EXPECT_EQ(to_json_tree(*read), to_json_tree(sample));
  }
}

// ---- Verdicts

/// Runs of a target with one variant: times are normal around these means.
std::vector<Sample> samples_around(double base, double variant, int64_t runs, double spread) {
  stats::Random random(5);
  const auto normal = [&] {
    double sum = -6;
    for (int i = 0; i < 12; i++) sum += random.uniform();
    return sum;
  };
  std::vector<Sample> samples;
  for (int64_t i = 0; i < runs; i++) {
    for (const auto& [side, mean] : {std::pair{"baseline", base}, std::pair{"fast", variant}}) {
      Sample sample;
      sample.target = "t";
      sample.side = side;
      sample.block = i;
      sample.value_ns = std::llround(mean * (1 + spread * normal()));
      sample.peak_memory_bytes = 5'000'000;
      samples.push_back(std::move(sample));
    }
  }
  return samples;
}

Target target_expecting(std::vector<std::string> texts) {
  Target target;
  target.name = target.base_name = "t";
  target.variants.push_back({"fast"});
  for (const std::string& text : texts) target.expectations.push_back(*parse_expectation(text));
  return target;
}

ClaimResult claim_of(double base, double variant, std::vector<std::string> texts) {
  const Target target = target_expecting(std::move(texts));
  return judge_claim(target, target.variants[0], samples_around(base, variant, 20, 0.01));
}

TEST(LabClaim, IsMetNotMetOrInconclusive) {
  EXPECT_EQ(claim_of(1e9, 0.8e9, {"speedup >= 1.05"}).verdict, ClaimVerdict::kMet);
  EXPECT_EQ(claim_of(1e9, 1e9, {"speedup >= 1.05"}).verdict, ClaimVerdict::kNotMet);
  const ClaimResult open = claim_of(1e9, 1e9 / 1.05, {"speedup >= 1.05"});
  EXPECT_EQ(open.verdict, ClaimVerdict::kInconclusive);
  EXPECT_FALSE(open.reason.empty());
}

TEST(LabClaim, OneBrokenExpectationBreaksTheClaim) {
  EXPECT_EQ(claim_of(1e9, 0.8e9, {"speedup >= 1.05", "memory_mb <= 5"}).verdict, ClaimVerdict::kMet);
  EXPECT_EQ(claim_of(1e9, 0.8e9, {"speedup >= 1.05", "memory_mb <= 4"}).verdict, ClaimVerdict::kNotMet);
  EXPECT_EQ(claim_of(1e9, 0.8e9, {"median_ms <= 700"}).verdict, ClaimVerdict::kNotMet);
}

TEST(LabClaim, AFigureThatNobodyHasDecidesNothing) {
  const ClaimResult claim = claim_of(1e9, 0.8e9, {"p99_ms <= 40"});
  EXPECT_EQ(claim.verdict, ClaimVerdict::kInconclusive);
  EXPECT_NE(claim.reason.find("p99_ms"), std::string::npos);
}

TEST(LabClaim, WarmUpDoesNotCount) {
  const Target target = target_expecting({"speedup >= 1.05"});
  auto samples = samples_around(1e9, 0.8e9, 20, 0.01);
  for (Sample& sample : samples) sample.phase = Phase::kWarmUp;
  const ClaimResult claim = judge_claim(target, target.variants[0], samples);
  EXPECT_EQ(claim.runs, 0);
  EXPECT_FALSE(claim.speedup);
  EXPECT_EQ(claim.verdict, ClaimVerdict::kInconclusive);
}

// ---- Files

// ---- GPUs

constexpr char kTelemetryTitles[] =
    "time,index,name,power.draw [mW],clocks.current.sm [MHz],clocks.current.memory [MHz],utilization.gpu [%],"
    "utilization.memory [%],temperature.gpu,memory.used [B],clocks_event_reasons.active\n";

TEST(LabGpus, AreSummedUpByTheirIndexAndWhatIsNotSaidIsAbsent) {
  const auto gpus = gpu_conditions(std::string(kTelemetryTitles) +
                                   "1,0,\"A, B\",100000,1980,2619,98,40,60,1,4\n"
                                   "1,1,\"A, B\",[N/A],1980,2619,98,40,50,1,[N/A]\n"
                                   "2,0,\"A, B\",300000,1200,2619,98,40,71,1,64\n"
                                   "2,1,\"A, B\",[N/A],19");
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0].samples, 2);
  EXPECT_EQ(gpus[0].sm_mhz_low, 1200);
  EXPECT_EQ(gpus[0].sm_mhz_high, 1980);
  EXPECT_DOUBLE_EQ(*gpus[0].power_w, 200);
  EXPECT_DOUBLE_EQ(*gpus[0].temperature_c, 71);
  EXPECT_EQ(gpus[0].slowed, 1) << "a power cap (4) is none, heat (64) is one";
  EXPECT_EQ(gpus[1].samples, 1) << "a line that was cut short does not count";
  EXPECT_FALSE(gpus[1].power_w || gpus[1].slowed);
  EXPECT_TRUE(gpu_conditions("").empty() && gpu_conditions("no,such\n1,2\n").empty());
}

// ---- Values that are printed

TEST(LabPrinted, ValuesStandBehindTheirWholeName) {
  using Values = std::vector<std::string_view>;
  EXPECT_EQ(printed_values("a=1 b=2\na=3\r\n\ta=4", "a"), (Values{"1", "3", "4"}));
  EXPECT_EQ(printed_values("aa=1 xa=2 a =3 a= a", "a"), (Values{""}));
  EXPECT_TRUE(printed_values("a=1", "").empty());
}

// ---- Expectations that are written anew

constexpr char kExpecting[] = R"(targets:
  - name: one
    baseline: {command: [a]}
    variants: {v: {command: [b]}}
    expect: ["speedup >= 1.05", p99_ms <= 40]
  - name: two
    matrix: {n: [1, 2]}
    baseline: {command: [a]}
    variants: {v: {command: [b]}}
    expect:
      - speedup >= 1.05   # why
)";

nlohmann::json claim_json(const std::string& target, const std::vector<std::array<double, 3>>& results,
                          const std::string& verdict = "met") {
  nlohmann::json claim = {{"target", target}, {"name", target}, {"verdict", verdict}, {"runs", 40}};
  claim["expectations"] = nlohmann::json::array();
  for (const auto& [low, value, high] : results)
    claim["expectations"].push_back({{"value", value}, {"low", low}, {"high", high}});
  return claim;
}

nlohmann::json list(const std::vector<nlohmann::json>& claims) {
  return claims;
}

TEST(LabExpectations, AreWrittenByWhatWasMeasured) {
  const auto file = parse_bench_file(kExpecting, "/some/where/bench.yaml");
  ASSERT_TRUE(file) << file.error().message;
  auto updates = expectation_updates(
      *file, list({claim_json("one", {{1.2345, 1.25, 1.27}, {30, 31, 32.004}}),
                   claim_json("two[n=1]", {{2, 2.1, 2.2}}), claim_json("two[n=2]", {{1.5, 1.6, 1.7}})}));
  const std::string text = with_updates(kExpecting, updates);
  EXPECT_NE(text.find("[\"speedup >= 1.21\", p99_ms <= 33.1]"), std::string::npos) << text;
  EXPECT_NE(text.find("- speedup >= 1.40   # why"), std::string::npos) << "the slowest of the matrix\n"
                                                                       << text;
  ASSERT_EQ(updates.size(), 3U);
  EXPECT_EQ(updates[2].claims, (std::vector<std::string>{"two[n=1]", "two[n=2]"}));
  EXPECT_TRUE(parse_bench_file(text, "/some/where/bench.yaml"));
}

TEST(LabExpectations, StayWhereNotAllOfThemWasMeasured) {
  const auto file = parse_bench_file(kExpecting, "/some/where/bench.yaml");
  auto updates = expectation_updates(*file, list({claim_json("one", {{0.1, 1, 2}, {30, 31, 32}}, "refused"),
                                                  claim_json("two[n=2]", {{1.5, 1.6, 1.7}})}));
  EXPECT_EQ(with_updates(kExpecting, updates), kExpecting);
  EXPECT_NE(updates[0].why_not.find("refused"), std::string::npos);
  EXPECT_EQ(updates[2].why_not, "two[n=1] was not measured");
  updates = expectation_updates(*file, list({claim_json("one", {{0.1, 1, 2}, {30, 31, 32}})}));
  EXPECT_NE(updates[1].why_not.find("too wide"), std::string::npos) << "the bound would be below 0";
}

TEST(LabExpectations, StayWhereTheirWordsAreNotPlain) {
  const std::string twice =
      "targets:\n  - {name: a, baseline: {command: [speedup >= 2]}, variants: {v: {command: [b]}}, expect: "
      "[speedup >= 2]}\n";
  const auto file = parse_bench_file(twice, "/some/where/bench.yaml");
  ASSERT_TRUE(file) << file.error().message;
  auto updates = expectation_updates(*file, list({claim_json("a", {{3, 3.1, 3.2}})}));
  EXPECT_EQ(with_updates(twice, updates), twice);
  EXPECT_NE(updates[0].why_not.find("more than once"), std::string::npos);
  EXPECT_EQ(updates[0].after, updates[0].before);
}

TEST(LabFile, PercentagesAndNumbersAreRead) {
  const auto file = parse_bench_file(
      "defaults: {warm_up: 3, labels: {a: b}}\ntargets:\n  - name: x\n    stop: {width: 2.5%, minutes: 0.5, "
      "runs: 4}\n"
      "    baseline: {command: [ls, 1, true]}\n",
      "/some/where/bench.yaml");
  ASSERT_TRUE(file) << file.error().message;
  const Target& target = file->targets[0];
  EXPECT_EQ(file->suite, "where");
  EXPECT_DOUBLE_EQ(*target.stop.width, 0.025);
  EXPECT_DOUBLE_EQ(*target.stop.minutes, 0.5);
  EXPECT_EQ(target.stop.least, 4);
  EXPECT_EQ(target.warm_up, 3);
  EXPECT_EQ(target.baseline->command, (std::vector<std::string>{"ls", "1", "true"}));
  EXPECT_EQ(target.baseline->folder, "/some/where/");
}

TEST(LabFile, ExpectationsSayWhichWayIsBetter) {
  EXPECT_TRUE(parse_expectation("per_second >= 3"));
  for (const char* const text :
       {"speedup <= 2", "p99_ms >= 3", "speedup >= x", "speedup > 2", "speed >= 2", "speedup >= 0", ""})
    EXPECT_FALSE(parse_expectation(text)) << text;
}

}  // namespace
}  // namespace nl::lab
