// Pages as a hostile file may have them. fuzz/parquet_fuzz.cpp looks for more of their kind.

#include "store/page_reader.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <string>
#include <string_view>

#include "model/batch.h"
#include "store/thrift_writer.h"

namespace nl::store {
namespace {

using namespace std::string_view_literals;

/// A page of plain values.
std::string page_of(int32_t values, std::string_view content) {
  std::string packed(ZSTD_compressBound(content.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), content.data(), content.size(), 1));
  ThriftWriter head;
  head.i32(1, kDataPage);
  head.i32(2, static_cast<int32_t>(content.size()));
  head.i32(3, static_cast<int32_t>(packed.size()));
  head.begin(5);
  head.i32(1, values);
  head.i32(2, 0);
  head.end();
  return head.take() + packed;
}

/// Two rows of an INT64 column: levels behind their length, then values.
Result<void> read_two_rows(PageReader& reader, std::string_view content) {
  const std::string bytes = page_of(2, content);
  ParquetColumn column;
  column.type = 2;
  column.optional = true;
  Unpacker unpacker = make_unpacker();
  return reader.read(column, {0, static_cast<int64_t>(bytes.size()), 2}, bytes, unpacker);
}

TEST(PageReader, PutsValuesIntoTheRowsThatHaveOne) {
  PageReader reader;
  // A run of one 0, then a run of one 1.
  const auto done = read_two_rows(reader, "\4\0\0\0\2\0\2\1\7\0\0\0\0\0\0\0"sv);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(reader.numbers(), (std::vector<int64_t>{model::kNull, 7}));
}

TEST(PageReader, RefusesALevelThatIsNone) {
  PageReader reader;
  EXPECT_FALSE(read_two_rows(reader, "\4\0\0\0\2\0\2\2\7\0\0\0\0\0\0\0"sv));
}

TEST(PageReader, RefusesLevelsThatEndTooEarly) {
  PageReader reader;
  EXPECT_FALSE(read_two_rows(reader, "\2\0\0\0\2\0\7\0\0\0\0\0\0\0"sv));
}

TEST(PageReader, RefusesFewerValuesThanLevelsSay) {
  PageReader reader;
  EXPECT_FALSE(read_two_rows(reader, "\2\0\0\0\4\1\7\0\0\0\0\0\0\0"sv));
}

}  // namespace
}  // namespace nl::store
