#include "store/state_backup.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "base/aside.h"
#include "base/files.h"

namespace nl::store {
namespace {

class StateBackup : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(make_folders(folder_)); }
  void TearDown() override { remove_tree(folder_); }

  State open() { return State::open(path_, SqliteAccess::kReadWrite, 1000).value(); }
  static std::string id(int number) {
    const std::string digits = std::to_string(number);
    return std::string(64 - digits.size(), '0') + digits;
  }
  void add_runs(int from, int to) {
    auto state = open();
    for (int i = from; i < to; i++) {
      ASSERT_TRUE(state.put_receipt(id(i), {i, "file " + std::to_string(i), "command", "host", "user"}));
      ASSERT_TRUE(state.add_tags(id(i), {"tag" + std::to_string(i)}, {1, "user"}));
      ASSERT_TRUE(state.add_note(id(i), std::string(200, 'n'), "", {i, "user"}));
    }
  }
  std::string content() {
    std::string all;
    auto state = State::open(path_, SqliteAccess::kReadOnly, 1000).value();
    EXPECT_TRUE(state.export_records([&](const nlohmann::json& record) -> Result<void> {
      all += record.dump() + "\n";
      return {};
    }));
    return all;
  }
  void flip(size_t byte) {
    std::string bytes = read_file(path_).value();
    bytes[byte] = static_cast<char>(bytes[byte] ^ 16);
    std::ofstream(path_, std::ios::binary) << bytes;
  }

  std::string folder_ = testing::TempDir() + "/state_backup" + unique_text();
  std::string path_ = folder_ + "/state.sqlite";
};

TEST_F(StateBackup, RestoresWhatADamagedPageHeld) {
  add_runs(0, 300);
  auto state = open();
  ASSERT_TRUE(back_up_state(state, folder_));
  const std::string before = content();
  const auto bytes = static_cast<size_t>(file_size(path_).value());
  std::mt19937 random(3);
  int damaged = 0, salvaged = 0;
  for (int i = 0; i < 20; i++) {
    flip(random() % bytes);
    const auto report = repair_state(folder_).value();
    EXPECT_EQ(content(), before) << i;
    damaged += report.was_damaged ? 1 : 0;
    salvaged += report.salvaged > 0 ? 1 : 0;
    EXPECT_EQ(report.salvaged + report.from_backup, report.was_damaged ? 900 : 0);
  }
  EXPECT_GT(damaged, 10);
  EXPECT_GT(salvaged, damaged / 2) << "what can be read is not taken from the backup";
}

TEST_F(StateBackup, WithoutABackupTheRestIsKept) {
  add_runs(0, 300);
  flip(4096 * 20 + 100);
  const auto report = repair_state(folder_).value();
  EXPECT_TRUE(report.was_damaged);
  EXPECT_FALSE(report.has_backup);
  EXPECT_GT(report.salvaged, 700);
  EXPECT_TRUE(path_exists(report.damaged_file));
}

TEST_F(StateBackup, ADamagedBackupIsNotTaken) {
  add_runs(0, 20);
  {
    auto state = open();
    ASSERT_TRUE(back_up_state(state, folder_));
  }
  add_runs(20, 40);
  {
    auto state = open();
    ASSERT_TRUE(back_up_state(state, folder_));
  }
  std::string newest = read_file(folder_ + "/state-backup.jsonl").value();
  newest[newest.size() / 2] ^= 1;
  std::ofstream(folder_ + "/state-backup.jsonl", std::ios::binary) << newest;
  std::ofstream(path_, std::ios::binary) << "nothing of SQLite";
  const auto report = repair_state(folder_).value();
  EXPECT_EQ(report.salvaged, 0);
  EXPECT_EQ(report.from_backup, 60) << "the one before it";
}

TEST_F(StateBackup, AGoodStateIsLeftAlone) {
  add_runs(0, 5);
  EXPECT_FALSE(repair_state(folder_).value().was_damaged);
  EXPECT_EQ(repair_state(folder_ + "/none").error().code, ErrorCode::kNotFound);
}

TEST_F(StateBackup, IsDueAfterSomeChanges) {
  add_runs(0, 1);
  auto state = open();
  ASSERT_TRUE(back_up_state_if_due(state, folder_));
  const std::string first = read_file(folder_ + "/state-backup.jsonl").value();
  ASSERT_TRUE(state.add_tags(id(0), {"another"}, {1, "user"}));
  ASSERT_TRUE(back_up_state_if_due(state, folder_));
  EXPECT_EQ(read_file(folder_ + "/state-backup.jsonl").value(), first);
  add_runs(1, 20);
  ASSERT_TRUE(back_up_state_if_due(state, folder_));
  EXPECT_NE(read_file(folder_ + "/state-backup.jsonl").value(), first);
  EXPECT_EQ(read_file(folder_ + "/state-backup-older.jsonl").value(), first);
}

}  // namespace
}  // namespace nl::store
