// Locks between processes: who may have what beside whom, and that the holder is named.

#include "lab/machine/machine_lock.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/files.h"

namespace nl::lab {
namespace {

using std::chrono::milliseconds;

class Locks : public testing::Test {
 protected:
  Locks() {
    std::string name = testing::TempDir() + "locks-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    surroundings_ =
        std::make_unique<Environment>(std::vector{"NEUROLENS_LOCKS=" + folder_ + "/all"}, folder_);
  }
  ~Locks() override {
    if (other_ > 0) end_other();
    remove_tree(folder_);
  }

  Result<MachineLock> take(const std::string& device, Use use, milliseconds wait = milliseconds(0)) const {
    return MachineLock::take(*surroundings_, device, use, "a test", wait);
  }

  /// Another process has it until it is killed.
  void let_other_take(const std::string& device, Use use) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    other_ = ::fork();
    if (other_ == 0) {
      const auto lock = MachineLock::take(*surroundings_, device, use, "the other", milliseconds(0));
      (void)!::write(ready[1], lock ? "y" : "n", 1);
      ::pause();
      ::_exit(0);
    }
    char said = 0;
    ASSERT_EQ(::read(ready[0], &said, 1), 1);
    ASSERT_EQ(said, 'y');
    ::close(ready[0]);
    ::close(ready[1]);
  }
  void end_other() {
    ::kill(other_, SIGKILL);
    ::waitpid(other_, nullptr, 0);
    other_ = -1;
  }

  std::string folder_;
  std::unique_ptr<Environment> surroundings_;
  pid_t other_ = -1;
};

TEST_F(Locks, OneAloneNamesItselfToTheOthers) {
  let_other_take("machine", Use::kAlone);
  const auto refused = take("machine", Use::kAlone);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_NE(refused.error().message.find("the other"), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find(std::to_string(other_)), std::string::npos)
      << refused.error().message;
  EXPECT_FALSE(take("machine", Use::kShared));
  EXPECT_FALSE(take("gpu0", Use::kAlone));  // a device is part of the machine
  const auto holder = MachineLock::holder(*surroundings_, "machine");
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->pid, other_);
  EXPECT_GT(holder->since_unix_ns, 0);
}

TEST_F(Locks, SharedOnesStandBesideEachOther) {
  let_other_take("machine", Use::kShared);
  EXPECT_TRUE(take("machine", Use::kShared));
  EXPECT_FALSE(take("machine", Use::kAlone));
}

TEST_F(Locks, DevicesAreApartButShareTheMachine) {
  let_other_take("gpu0", Use::kAlone);
  EXPECT_FALSE(take("gpu0", Use::kAlone));
  EXPECT_FALSE(take("gpu0", Use::kShared));
  EXPECT_TRUE(take("gpu1", Use::kAlone));
  EXPECT_TRUE(take("machine", Use::kShared));
  EXPECT_FALSE(take("machine", Use::kAlone));
  EXPECT_TRUE(MachineLock::holder(*surroundings_, "gpu0"));
  EXPECT_FALSE(MachineLock::holder(*surroundings_, "gpu1"));  // nobody is in its way
}

TEST_F(Locks, EndWithTheirProcessHoweverItEnds) {
  let_other_take("machine", Use::kAlone);
  end_other();
  EXPECT_FALSE(MachineLock::holder(*surroundings_, "machine"));  // what it wrote is not believed
  EXPECT_TRUE(take("machine", Use::kAlone));
}

TEST_F(Locks, AreGivenBack) {
  { ASSERT_TRUE(take("gpu0", Use::kAlone)); }
  EXPECT_TRUE(take("machine", Use::kAlone));
}

TEST_F(Locks, WhoAsksDoesNotStandInTheWay) {
  ASSERT_TRUE(take("machine", Use::kAlone));
  for (int i = 0; i < 50; i++) {
    ASSERT_FALSE(MachineLock::holder(*surroundings_, "machine"));
    ASSERT_TRUE(take("machine", Use::kAlone));
  }
}

TEST_F(Locks, RefuseNamesThatLeadElsewhere) {
  for (const char* const name : {"", "../x", "a b", "a/b"}) {
    const auto lock = take(name, Use::kAlone);
    ASSERT_FALSE(lock) << name;
    EXPECT_EQ(lock.error().code, ErrorCode::kBadInput);
  }
}

TEST_F(Locks, FollowNoLink) {
  ASSERT_EQ(::mkdir((folder_ + "/all").c_str(), 0700), 0);
  ASSERT_EQ(::symlink((folder_ + "/target").c_str(), (folder_ + "/all/machine").c_str()), 0);
  EXPECT_FALSE(take("machine", Use::kAlone));
  EXPECT_FALSE(path_exists(folder_ + "/target"));
}

}  // namespace
}  // namespace nl::lab
