// What all threads of a process share: variables, working folder, signals.

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <optional>

#include "base/environment.h"
#include "base/process.h"
#include "base/signal_counter.h"

namespace nl {
namespace {

TEST(Environment, IsAskedByName) {
  const Environment around({"A=1", "AB=2", "EMPTY=", "PATH=/no/such/folder"}, "/somewhere");
  EXPECT_EQ(around.get("A"), "1");
  EXPECT_EQ(around.get("AB"), "2");
  EXPECT_TRUE(around.has("EMPTY"));
  EXPECT_FALSE(around.has("B"));
  EXPECT_EQ(around.get("B"), "");
  EXPECT_EQ(around.absolute("x/y"), "/somewhere/x/y");
  EXPECT_EQ(around.absolute("/x"), "/x");
  EXPECT_EQ(around.temp_folder(), "/tmp");
}

TEST(Environment, OfTheProcess) {
  EXPECT_EQ(Environment::of_process().folder(), std::filesystem::current_path().string());
  EXPECT_EQ(Environment::of_process().get("PATH"), std::getenv("PATH"));
}

TEST(Environment, ProgramsSeeWhatIsHandedDown) {
  const Environment around({"PATH=/usr/bin:/bin", "WHO=caller"}, "/");
  EXPECT_EQ(output_of(around, "sh", {"-c", "echo $WHO $MORE"}, {"MORE=given"}), "caller given");
  EXPECT_EQ(output_of(Environment({}, "/"), "sh", {"-c", "true"}), std::nullopt) << "found without a PATH";
}

void (*handler_now(int number))(int) {
  struct sigaction action = {};
  ::sigaction(number, nullptr, &action);
  return action.sa_handler;
}

TEST(SignalCounter, EachObjectCountsAndTheLastPutsBackWhatWasThere) {
  ::signal(SIGUSR2, SIG_IGN);
  std::optional<SignalCounter> first(SIGUSR2);
  ::raise(SIGUSR2);
  {
    const SignalCounter second(SIGUSR2);
    ::raise(SIGUSR2);
    EXPECT_EQ(first->count(), 2u);
    EXPECT_EQ(second.count(), 1u);
  }
  ::raise(SIGUSR2);
  EXPECT_EQ(first->count(), 3u) << "the end of another one changes nothing";
  EXPECT_NE(handler_now(SIGUSR2), SIG_IGN);
  first.reset();
  EXPECT_EQ(handler_now(SIGUSR2), SIG_IGN);
  ::signal(SIGUSR2, SIG_DFL);
}

}  // namespace
}  // namespace nl
