#include "capture/tools/pass.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.h"

namespace nl::capture {
namespace {

/// The timing process is the program itself, which a test is not: here a tool stands before it and ignores
/// it.
class Pass : public testing::Test {
 protected:
  Pass() {
    std::string name = testing::TempDir() + "pass-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    options_.artifacts = folder_ + "/artifacts";
    options_.command = {"true"};
    options_.budget.grace = std::chrono::seconds(1);
  }
  ~Pass() override { remove_tree(folder_); }

  PassEnd shell(const std::string& script) {
    options_.tool = {"sh", "-c", script, "sh"};
    auto end = run_pass(options_);
    EXPECT_TRUE(end) << end.error().message;
    return end ? *end : PassEnd();
  }
  std::string why_cut(const PassEnd& end) const {
    return end.end.process.cut_short ? end.end.process.cut_short->message : "";
  }

  std::string folder_;
  PassOptions options_;
};

TEST_F(Pass, SilenceEndsIt) {
  options_.budget.silence = std::chrono::milliseconds(1500);
  EXPECT_NE(why_cut(shell("echo first; sleep 60")).find("nothing was written for 1 s"), std::string::npos);
  EXPECT_EQ(last_words(options_.artifacts), "first");
}

TEST_F(Pass, OutputOrAGrowingFileIsNoSilence) {
  options_.budget.silence = std::chrono::seconds(3);
  const std::string file = options_.artifacts + "/file";
  EXPECT_EQ(why_cut(shell("for i in 1 2; do sleep 1; echo out; sleep 1; echo more >> " + file + "; done")),
            "");
}

TEST_F(Pass, TooLongAndTooLarge) {
  options_.budget.time = std::chrono::seconds(1);
  EXPECT_EQ(why_cut(shell("sleep 60")), "it did not end within 1 s");
  options_.budget.time = std::chrono::minutes(1);
  options_.budget.bytes = 1 << 20;
  EXPECT_EQ(why_cut(shell("head -c 3000000 /dev/zero > " + options_.artifacts + "/file; sleep 60")),
            "its files have more than 1 MB");
  EXPECT_GE(folder_bytes(options_.artifacts), 3'000'000) << "what there is is kept";
}

TEST_F(Pass, ATimeOnlyOfACommandThatEnded) {
  const PassEnd end = shell("exit 7");
  EXPECT_EQ(end.end.process.exit_code, 7);
  EXPECT_FALSE(end.time || end.not_started);
}

TEST(TimedCommand, SaysHowLongAndHow) {
  const std::string file = testing::TempDir() + "timed-" + std::to_string(::getpid());
  const auto run = [&](std::vector<std::string> words) {
    std::vector<char*> command;
    for (std::string& word : words) command.push_back(word.data());
    command.push_back(nullptr);
    return run_timed_command(file, command.data());
  };
  EXPECT_EQ(run({"sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 5"}), 5);
  const auto time = read_command_time(file);
  ASSERT_TRUE(time);
  EXPECT_EQ(time->exit_code, 5);
  EXPECT_GT(time->wall_ns, 0);
  EXPECT_GT(time->cpu_ns, 0);
  EXPECT_EQ(run({"sh", "-c", "kill -9 $$"}), 137);
  EXPECT_EQ(run({"/no/such/program"}), 127);
  const auto absent = read_command_time(file);
  EXPECT_TRUE(!absent && absent.error().code == ErrorCode::kNotFound);
  remove_tree(file);
  const auto unended = read_command_time(file);
  EXPECT_TRUE(!unended && unended.error().code == ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace nl::capture
