#include "store/page_checksums.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>
#include <random>

#include "base/aside.h"
#include "base/files.h"
#include "store/sqlite.h"

namespace nl::store {
namespace {

class PageChecksums : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(make_folders(folder_)); }
  void TearDown() override { remove_tree(folder_); }

  Result<Sqlite> open(SqliteAccess access = SqliteAccess::kReadWrite) {
    return Sqlite::open(path_, 1000, access, {"the advice", {}});
  }

  void fill(Sqlite& db) {
    ASSERT_TRUE(db.run("CREATE TABLE t(k INTEGER PRIMARY KEY, v TEXT)"));
    for (int64_t k = 0; k < 500; k++)
      ASSERT_TRUE(
          db.run("INSERT INTO t VALUES (?, ?)", {k, std::string(100, static_cast<char>('a' + k % 26))}));
  }

  /// What the file says, or the error.
  Result<std::string> content(SqliteAccess access) {
    NL_TRY(Sqlite db, open(access));
    NL_TRY(const int64_t version, db.integer("PRAGMA user_version"));
    std::string all = std::to_string(version);
    NL_CHECK(db.each("SELECT k, v FROM t ORDER BY k", {},
                     [&](const SqliteRow& row) { all += row.text(0) + row.text(1); }));
    return db.has_checksums() ? all : "without checksums: " + all;
  }

  void flip(size_t byte, int bit) {
    std::string bytes = read_file(path_).value();
    bytes[byte] = static_cast<char>(bytes[byte] ^ (1 << bit));
    std::ofstream(path_, std::ios::binary) << bytes;
  }

  std::string folder_ = testing::TempDir() + "/page_checksums" + unique_text();
  std::string path_ = folder_ + "/file.sqlite";
};

TEST_F(PageChecksums, AreThereFromTheStart) {
  {
    auto db = open().value();
    fill(db);
    EXPECT_TRUE(db.has_checksums());
  }
  for (const auto access : {SqliteAccess::kReadWrite, SqliteAccess::kReadOnly, SqliteAccess::kImmutable})
    EXPECT_TRUE(content(access).has_value());
}

TEST_F(PageChecksums, EveryFlippedBitIsNoticedOrHarmless) {
  {
    auto db = open().value();
    fill(db);
  }
  const std::string expected = content(SqliteAccess::kReadOnly).value();
  const std::string bytes = read_file(path_).value();
  std::mt19937 random(1);
  int noticed = 0;
  for (int i = 0; i < 600; i++) {
    const size_t at = i < 100 ? static_cast<size_t>(i) : random() % bytes.size();
    flip(at, static_cast<int>(random() % 8));
    const auto found = content(i % 2 == 0 ? SqliteAccess::kReadOnly : SqliteAccess::kImmutable);
    EXPECT_TRUE(!found || *found == expected || found->starts_with("without")) << at;
    noticed += found && *found == expected ? 0 : 1;
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  EXPECT_GT(noticed, 500) << "almost every page is read";
}

TEST_F(PageChecksums, ADamagedPageSaysWhatToDo) {
  {
    auto db = open().value();
    fill(db);
  }
  flip(4096 * 3 + 2000, 3);
  const auto found = content(SqliteAccess::kReadOnly);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kIo);
  EXPECT_EQ(found.error().hint, "the advice");
  EXPECT_NE(found.error().message.find("other bytes than were written"), std::string::npos);
}

TEST_F(PageChecksums, MappedPagesAreChecked) {
  {
    auto db = open().value();
    ASSERT_TRUE(db.run("PRAGMA journal_mode = WAL"));
    fill(db);
  }
  flip(4096 * 4 + 1000, 0);
  auto db = open().value();
  ASSERT_TRUE(db.run("PRAGMA mmap_size = 1073741824"));
  EXPECT_FALSE(db.each("SELECT v FROM t", {}, [](const SqliteRow&) {}));
}

TEST_F(PageChecksums, AnOldFileGetsThem) {
  {
    sqlite3* plain = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &plain), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(plain,
                           "CREATE TABLE t(k INTEGER PRIMARY KEY, v TEXT); WITH RECURSIVE n(i) AS "
                           "(SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) INSERT INTO t SELECT i, "
                           "'text ' || i FROM n",
                           nullptr, nullptr, nullptr),
              SQLITE_OK);
    sqlite3_close(plain);
  }
  const std::string before = content(SqliteAccess::kReadOnly).value();
  ASSERT_TRUE(before.starts_with("without checksums: "));
  {
    auto db = open().value();
    auto other = open().value();
    ASSERT_TRUE(other.integer("SELECT count(*) FROM t"));
    ASSERT_TRUE(db.add_checksums());
    EXPECT_TRUE(db.has_checksums());
    EXPECT_TRUE(other.run("INSERT INTO t VALUES (9000, 'of one who opened it before')"));
    EXPECT_TRUE(db.run("DELETE FROM t WHERE k = 9000"));
  }
  EXPECT_EQ("without checksums: " + content(SqliteAccess::kReadOnly).value(), before);
}

TEST_F(PageChecksums, FreedPagesComeBack) {
  auto db = open().value();
  fill(db);
  for (int round = 0; round < 20; round++) {
    ASSERT_TRUE(db.run("DELETE FROM t WHERE k % 3 = " + std::to_string(round % 3)));
    ASSERT_TRUE(db.run("INSERT OR REPLACE INTO t SELECT k + 1000 * " + std::to_string(round) +
                       ", v || v FROM t LIMIT 200"));
  }
  EXPECT_TRUE(db.check_pages());
  auto again = open(SqliteAccess::kReadOnly).value();
  EXPECT_TRUE(again.check_pages());
}

}  // namespace
}  // namespace nl::store
