#include "capture/run/workload.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/files.h"

namespace nl::capture {
namespace {

using std::chrono::milliseconds;

class Workload : public testing::Test {
 protected:
  Workload() {
    std::string name = testing::TempDir() + "workload-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    options_.artifacts = folder_ + "/artifacts";
  }
  ~Workload() override { remove_tree(folder_); }

  WorkloadEnd shell(const std::string& script) {
    options_.command = {"sh", "-c", script};
    auto end = run_workload(options_);
    EXPECT_TRUE(end) << end.error().message;
    return end ? *end : WorkloadEnd();
  }
  std::string kept(const std::string& name) const {
    return read_file(options_.artifacts + "/" + name).value();
  }

  /// The program is to end as soon as it has made the file `ready`.
  void end_when_ready() {
    options_.watch = [this]() -> Result<void> {
      if (!path_exists(folder_ + "/ready")) return {};
      return Error{ErrorCode::kUnavailable, "enough"};
    };
  }

  std::string folder_;
  WorkloadOptions options_;
};

TEST_F(Workload, KeepsWhatItWritesAndHowItEnds) {
  const WorkloadEnd end = shell("echo out; echo err >&2; exit 7");
  EXPECT_EQ(end.process.exit_code, 7);
  EXPECT_EQ(end.process.signal, 0);
  EXPECT_FALSE(end.process.cut_short);
  EXPECT_EQ(kept("stdout.txt"), "out\n");
  EXPECT_EQ(kept("stderr.txt"), "err\n");
  EXPECT_EQ(end.output_bytes, 4);
  EXPECT_EQ(end.strays, 0);
  EXPECT_GT(end.process.wall_ns, 0);
  EXPECT_GT(end.process.peak_memory_bytes, 100'000);
}

TEST_F(Workload, KeepsOnlySoMuchAndCountsTheRest) {
  options_.output_bytes = 1000;
  const WorkloadEnd end = shell("head -c 3000000 /dev/zero");
  EXPECT_EQ(end.output_bytes, 3'000'000);
  EXPECT_EQ(kept("stdout.txt").size(), 1000u);
  EXPECT_EQ(end.process.exit_code, 0);
}

TEST_F(Workload, NamesTheSignalThatEndedIt) {
  const WorkloadEnd end = shell("kill -SEGV $$");
  EXPECT_EQ(end.process.signal, SIGSEGV);
  EXPECT_EQ(end.process.exit_code, 128 + SIGSEGV);
}

TEST_F(Workload, IsAskedToEndAndMayDoSo) {
  end_when_ready();
  options_.grace = std::chrono::seconds(60);
  const WorkloadEnd end =
      shell("trap 'echo bye; exit 5' TERM; touch " + folder_ + "/ready; sleep 600 & wait");
  EXPECT_EQ(end.process.exit_code, 5);
  ASSERT_TRUE(end.process.cut_short);
  EXPECT_EQ(end.process.cut_short->message, "enough");
  EXPECT_EQ(kept("stdout.txt"), "bye\n");
}

TEST_F(Workload, EndsWithItsTime) {
  options_.time_limit = milliseconds(100);
  const WorkloadEnd end = shell("sleep 600");
  ASSERT_TRUE(end.process.cut_short);
  EXPECT_NE(end.process.cut_short->message.find("did not end within"), std::string::npos);
  EXPECT_EQ(end.process.signal, SIGTERM);
}

TEST_F(Workload, IsKilledIfItDoesNotListen) {
  end_when_ready();
  options_.grace = milliseconds(200);
  const WorkloadEnd end = shell("trap '' TERM; touch " + folder_ + "/ready; while :; do sleep 1; done");
  EXPECT_EQ(end.process.signal, SIGKILL);
  EXPECT_TRUE(end.process.cut_short);
}

TEST_F(Workload, WhatItLeftBehindEndsToo) {
  const WorkloadEnd end = shell("setsid sh -c 'echo $$ > " + folder_ + "/stray; sleep 600' & while [ ! -s " +
                                folder_ + "/stray ]; do sleep 0.01; done");
  EXPECT_GE(end.strays, 1);
  const pid_t stray = std::stoi(read_file(folder_ + "/stray").value());
  EXPECT_NE(::kill(stray, 0), 0) << "it still runs";
}

TEST_F(Workload, SeesTheEnvironmentAndTheFolder) {
  options_.environment = {"NEUROLENS_A_TEST=yes", "HOME=/elsewhere"};
  options_.folder = folder_;
  shell("echo $NEUROLENS_A_TEST $HOME; pwd");
  EXPECT_EQ(kept("stdout.txt"), "yes /elsewhere\n" + std::filesystem::canonical(folder_).string() + "\n");
}

TEST_F(Workload, AnErrorOfTheWatchEndsIt) {
  int asked = 0;
  options_.watch = [&asked]() -> Result<void> {
    if (++asked < 3) return {};
    return cancelled_error();
  };
  const WorkloadEnd end = shell("sleep 600");
  ASSERT_TRUE(end.process.cut_short);
  EXPECT_EQ(end.process.cut_short->code, ErrorCode::kCancelled);
  EXPECT_EQ(end.process.signal, SIGTERM);
}

TEST_F(Workload, AProgramThatIsNotThereIsAnError) {
  options_.command = {"no-such-program-anywhere"};
  const auto end = run_workload(options_);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ErrorCode::kNotFound);
  options_.command = {};
  EXPECT_FALSE(run_workload(options_));
}

}  // namespace
}  // namespace nl::capture
