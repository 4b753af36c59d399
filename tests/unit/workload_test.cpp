#include "capture/run/workload.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <thread>
#include <vector>

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
  EXPECT_EQ(end.process.strays, 0);
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
  EXPECT_GE(end.process.strays, 1);
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

TEST_F(Workload, EndsNothingThatItDidNotStart) {
  const pid_t other = ::fork();  // a child of this process that has nothing to do with the workload
  if (other == 0) {
    ::pause();
    ::_exit(0);
  }
  const WorkloadEnd end = shell("setsid sleep 600 & exit 0");
  EXPECT_EQ(end.process.strays, 1);
  EXPECT_EQ(::waitpid(other, nullptr, WNOHANG), 0) << "it was ended";
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
}

TEST_F(Workload, SeveralAtOnceKeepTheirStraysApart) {
  constexpr int kWorkloads = 8;
  std::vector<std::thread> threads;
  std::array<int64_t, kWorkloads> strays{};
  for (int i = 0; i < kWorkloads; i++) {
    threads.emplace_back([&, i] {
      WorkloadOptions options = options_;
      options.artifacts = folder_ + "/artifacts-" + std::to_string(i);
      std::string script;
      for (int n = 0; n < i; n++) script += "setsid sleep 600 & ";
      options.command = {"sh", "-c", script + "echo " + std::to_string(i)};
      const auto end = run_workload(options);
      strays[static_cast<size_t>(i)] = end ? end->process.strays : -1;
      EXPECT_EQ(read_file(options.artifacts + "/stdout.txt").value(), std::to_string(i) + "\n");
    });
  }
  for (auto& thread : threads) thread.join();
  for (int i = 0; i < kWorkloads; i++) EXPECT_EQ(strays[static_cast<size_t>(i)], i);
  int subreaper = 1;
  ::prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
  EXPECT_EQ(subreaper, 0) << "orphans of other threads' programs must not come to us";
}

TEST_F(Workload, StraysMayEndByThemselvesButNotLater) {
  options_.grace = milliseconds(200);
  const WorkloadEnd end = shell("setsid sh -c \"trap '' TERM; touch " + folder_ +
                                "/ready; while :; do sleep 1; done\" & while [ ! -e " + folder_ +
                                "/ready ]; do sleep 0.01; done");
  EXPECT_GE(end.process.strays, 1);
  EXPECT_FALSE(end.process.cut_short);
}

TEST_F(Workload, HasNoInputUnlessGiven) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ASSERT_EQ(::write(ends[1], "given\n", 6), 6);
  ::close(ends[1]);
  const int ours = ::dup(STDIN_FILENO);
  ASSERT_EQ(::dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
  shell("cat");
  EXPECT_EQ(kept("stdout.txt"), "") << "it read our standard input";
  options_.input = STDIN_FILENO;
  shell("cat");
  EXPECT_EQ(kept("stdout.txt"), "given\n");
  ::dup2(ours, STDIN_FILENO);
  ::close(ours);
  ::close(ends[0]);
}

TEST_F(Workload, InheritsNoFileOfOurs) {
  const int ours = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC, as a library might
  shell("ls /proc/self/fd | wc -l");
  EXPECT_EQ(std::stoi(kept("stdout.txt")), 4) << "three streams and the folder that is listed";
  ::close(ours);
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
