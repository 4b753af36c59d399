// A cancelled import of any format ends with `cancelled` and leaves nothing; waits for locks end, too.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "base/call_control.h"
#include "base/files.h"
#include "fingerprint/row_block.h"
#include "ops/import/import_file.h"
#include "source_folder.h"
#include "store/sqlite.h"

namespace nl {
namespace {

struct CancelledFormat {
  std::string format, input;
};

/// One input of each format that the golden cases have as a file.
std::vector<CancelledFormat> one_of_each_format() {
  const std::string root = source_folder() + "/tests/golden";
  std::vector<CancelledFormat> inputs;
  for (const auto& format : list_folder(root)) {
    for (const auto& name : list_folder(root + "/" + format)) {
      const std::string start = root + "/" + format + "/" + name + "/input.";
      if (name.starts_with("error_")) continue;
      const size_t before = inputs.size();
      for (const char* end : {"json", "csv", "txt", "sql"}) {
        if (path_exists(start + end)) inputs.push_back({format, start + end});
      }
      if (inputs.size() > before) break;
    }
  }
  return inputs;
}

class CancelledImport : public testing::TestWithParam<CancelledFormat> {
 protected:
  CancelledImport() {
    std::string name = testing::TempDir() + "cancelled-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    context_.ledger_folder = folder_ + "/ledger";
  }
  ~CancelledImport() override { remove_tree(folder_); }

  /// Statements become the database that a profiler would have written.
  std::string input() const {
    const std::string& given = GetParam().input;
    if (!given.ends_with(".sql")) return given;
    const std::string path = folder_ + "/input.sqlite";
    sqlite3* db = nullptr;
    sqlite3_open(path.c_str(), &db);
    EXPECT_EQ(sqlite3_exec(db, read_file(given).value().c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(db);
    return path;
  }

  std::string folder_;
  ops::Context context_;
};

TEST_P(CancelledImport, LeavesNothingAndTheNextOneWorks) {
  auto ledger = store::Ledger::open(context_.ledger_folder).value();
  ops::ImportOptions options;
  options.format = GetParam().format;
  options.threads = 2;
  const std::string path = input();
  int cancelled = 0;
  for (int patience = 0;; patience = patience * 3 / 2 + 1) {
    std::atomic<int> asked = 0;
    context_.cancelled = [&] { return asked++ >= patience; };
    const auto report = ops::import_files(context_, ledger, {path}, options);
    if (report) break;
    ASSERT_EQ(report.error().code, ErrorCode::kCancelled) << report.error().message;
    cancelled++;
    EXPECT_TRUE(list_folder(context_.ledger_folder + "/staging").empty());
    EXPECT_TRUE(list_folder(context_.ledger_folder + "/runs").empty());
    EXPECT_EQ(ledger.count().value(), 0);
  }
  EXPECT_GE(cancelled, 3) << "it hardly asks";
  EXPECT_EQ(ledger.count().value(), 1);
}

INSTANTIATE_TEST_SUITE_P(Formats, CancelledImport, testing::ValuesIn(one_of_each_format()),
                         [](const auto& test) {
                           std::string name = test.param.format;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

class CancelledWait : public testing::Test {
 protected:
  CancelledWait() {
    std::string name = testing::TempDir() + "wait-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~CancelledWait() override { remove_tree(folder_); }
  /// Cancelled when asked for the third time: while it waits.
  std::function<bool()> soon() {
    return [this] { return ++asked_ >= 3; };
  }
  std::string folder_;
  int asked_ = 0;
};

TEST_F(CancelledWait, ForTheStateOfALedger) {
  auto ledger = store::Ledger::open(folder_).value();
  auto other = store::Sqlite::open(folder_ + "/state.sqlite", 0).value();
  const auto held = store::SqliteTransaction::begin(other).value();
  const CallScope scope({soon(), {}});
  const auto changed = ledger.change_state(
      [](store::State& state) { return state.add_note("none", "text", "", {1, "somebody"}); });
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, ErrorCode::kCancelled);
}

TEST_F(CancelledWait, ForRowsOfFingerprints) {
  const std::string path = folder_ + "/1.rows";
  const int other = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  const CallScope scope({soon(), {}});
  EXPECT_EQ(fingerprint::append_rows(path, 1, {}).error().code, ErrorCode::kCancelled);
  ::close(other);
}

}  // namespace
}  // namespace nl
