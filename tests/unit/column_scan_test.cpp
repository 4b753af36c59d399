#include "store/column_scan.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/files.h"
#include "model/batch.h"
#include "shared_engine.h"

namespace nl::store {
namespace {

/// A file with rows of spans, written by the engine as an import writes them.
class ColumnScanTest : public testing::Test {
 protected:
  void TearDown() override { ::unlink(path_.c_str()); }

  void write(const std::string& rows, int dictionary = 2000) {
    const std::string options =
        "(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 4096, PARQUET_VERSION V2, "
        "DICTIONARY_SIZE_LIMIT " +
        std::to_string(dictionary) + ")";
    const auto done =
        SharedEngine::connection().run("COPY (" + rows + ") TO " + sql_quoted(path_) + " " + options);
    ASSERT_TRUE(done) << done.error().message;
  }
  Result<ColumnScan> scan(std::initializer_list<std::string_view> columns) {
    return ColumnScan::open(path_, model::table(model::TableId::spans), columns);
  }

  const std::string path_ = testing::TempDir() + "column-scan-" + std::to_string(::getpid()) + ".parquet";
};

constexpr char kRows[] =
    "SELECT (i % 3)::INTEGER AS track_id, 'name ' || i % 700 AS name, CASE WHEN i % 5 > 0 THEN 'op ' || i "
    "END "
    "AS op_type, i * i - 100000 * i AS start_ns, CASE WHEN i % 7 > 0 THEN i % 2 END AS dur_ns, NULL::BIGINT "
    "AS "
    "correlation_id FROM range(10000) r(i)";

TEST_F(ColumnScanTest, ReadsWhatWasWritten) {
  for (const int dictionary : {2000, 1}) {
    write(kRows, dictionary);
    auto found =
        scan({"track_id", "name", "op_type", "start_ns", "dur_ns", "correlation_id", "shapes"}).value();
    int64_t i = 0;
    const auto done = found.for_pieces([&] {
      for (size_t row = 0; row < found.size(); row++, i++) {
        ASSERT_EQ(found.numbers(0)[row], i % 3);
        ASSERT_EQ(found.text(1, row), "name " + std::to_string(i % 700));
        ASSERT_EQ(found.has_text(2, row), i % 5 > 0);
        ASSERT_EQ(found.text(2, row), i % 5 > 0 ? "op " + std::to_string(i) : "");
        ASSERT_EQ(found.numbers(3)[row], i * i - 100000 * i);
        ASSERT_EQ(found.numbers(4)[row], i % 7 > 0 ? i % 2 : model::kNull);
        ASSERT_EQ(found.numbers(5)[row], model::kNull);
        ASSERT_FALSE(found.has_text(6, row));  // the file has no such column
      }
    });
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(i, 10000);
  }
}

TEST_F(ColumnScanTest, ATableWithoutAFileHasNoRows) {
  auto found = ColumnScan::open("", model::table(model::TableId::spans), {"name"}).value();
  EXPECT_FALSE(found.next().value());
}

TEST_F(ColumnScanTest, AColumnOfAnotherTypeIsAnError) {
  write("SELECT 1::BIGINT AS name");
  EXPECT_EQ(scan({"name"}).error().code, ErrorCode::kIo);
}

/// Whatever the bytes are, reading ends with rows or with an error.
TEST_F(ColumnScanTest, DamagedBytesAreNoCrash) {
  write(kRows);
  const std::string whole = read_file(path_).value();
  for (size_t at = 4; at < whole.size(); at += 97) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    std::ofstream(path_, std::ios::binary) << damaged;
    auto found = scan({"track_id", "name", "op_type", "start_ns", "dur_ns"});
    if (found) (void)found->for_pieces([] {});
  }
}

}  // namespace
}  // namespace nl::store
