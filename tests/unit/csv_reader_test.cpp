#include "ingest/source/csv_reader.h"

#include <gtest/gtest.h>

namespace nl::ingest {
namespace {

using Rows = std::vector<std::vector<std::string>>;

/// Rows of a text, read in chunks of the given size.
Result<Rows> rows_of(std::string_view text, size_t chunk, char separator = ',', CsvLimits limits = {}) {
  NL_TRY(auto source, open_memory(text));
  limits.chunk_bytes = chunk;
  CsvReader reader(*source, limits);
  Rows rows;
  std::vector<std::string_view> fields;
  for (;;) {
    NL_TRY(const bool found, reader.next_row(fields, separator));
    if (!found) return rows;
    rows.emplace_back(fields.begin(), fields.end());
  }
}

void expect_rows(std::string_view text, const Rows& expected, char separator = ',') {
  for (const size_t chunk : {1, 2, 3, 7, 4096}) {
    const auto rows = rows_of(text, chunk, separator);
    ASSERT_TRUE(rows) << rows.error().message;
    EXPECT_EQ(*rows, expected) << text << " in chunks of " << chunk;
  }
}

TEST(CsvReader, SplitsFields) {
  expect_rows("a,b\nc,d\n", {{"a", "b"}, {"c", "d"}});
  expect_rows("a,b\r\nc,d", {{"a", "b"}, {"c", "d"}});
  expect_rows("a,,\n,\n\nx", {{"a", "", ""}, {"", ""}, {""}, {"x"}});
  expect_rows("a;b,c\n", {{"a", "b,c"}}, ';');
  expect_rows("\xEF\xBB\xBFID,b\n", {{"ID", "b"}});
}

TEST(CsvReader, ReadsQuotes) {
  expect_rows("\"a,b\",\"c\"\"d\",\"\"\n", {{"a,b", "c\"d", ""}});
  expect_rows("\"two\nlines\",x\ny\n", {{"two\nlines", "x"}, {"y"}});
  expect_rows("\"\"\"\",\"\"\"a\"\"\"\n", {{"\"", "\"a\""}});
  expect_rows("a\"b,c \"\"d\"\"\nnext\n", {{"a\"b", "c \"\"d\"\""}, {"next"}});
  expect_rows("\"a\"b\"c,d\nnext\n", {{"ab\"c", "d"}, {"next"}});
  expect_rows("  \"a,b\" , c\n", {{"a,b ", " c"}});
}

TEST(CsvReader, AnOpenQuoteIsAnError) {
  for (const char* text : {"a,\"b", "a,\"b\nc\nd", "\"", "\"a\"\""}) {
    const auto rows = rows_of(text, 3);
    ASSERT_FALSE(rows) << text;
    EXPECT_EQ(rows.error().code, ErrorCode::kBadInput);
  }
}

TEST(CsvReader, LimitsRowsAndFields) {
  CsvLimits limits;
  limits.max_row_bytes = 100;
  EXPECT_EQ(rows_of(std::string(5000, 'a'), 64, ',', limits).error().code, ErrorCode::kLimit);
  EXPECT_EQ(rows_of("\"" + std::string(5000, '\n'), 64, ',', limits).error().code, ErrorCode::kLimit);
  limits = {};
  limits.max_fields = 3;
  EXPECT_TRUE(rows_of("a,b,c\n", 64, ',', limits));
  EXPECT_EQ(rows_of("a,b,c,d\n", 64, ',', limits).error().code, ErrorCode::kLimit);
}

TEST(CsvReader, LinesAndRowsAlternate) {
  auto source = open_memory("an \"odd line\n\"ID\",\"x\ny\"\nlast").value();
  CsvReader reader(*source, {.chunk_bytes = 2});
  std::string_view line;
  std::vector<std::string_view> fields;
  ASSERT_TRUE(*reader.next_line(line));
  EXPECT_EQ(line, "an \"odd line");
  EXPECT_EQ(*reader.peek(4), "\"ID\"");
  ASSERT_TRUE(*reader.next_row(fields));
  EXPECT_EQ(reader.line(), 2);
  EXPECT_EQ(fields[1], "x\ny");
  EXPECT_TRUE(reader.was_ended());
  ASSERT_TRUE(*reader.next_line(line));
  EXPECT_EQ(reader.line(), 4);
  EXPECT_EQ(line, "last");
  EXPECT_FALSE(reader.was_ended());
  EXPECT_FALSE(*reader.next_line(line));
  EXPECT_EQ(*reader.peek(4), "");
}

}  // namespace
}  // namespace nl::ingest
