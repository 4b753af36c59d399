#include "store/parquet_footer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "shared_engine.h"
#include "source_folder.h"
#include "store/bundle_check.h"
#include "store/run_views.h"
#include "store/table_writer.h"

namespace nl::store {
namespace {

/// Files of a real bundle.
std::string bundle_file(const std::string& table) {
  return source_folder() + "/tests/fixtures/run_1/" + table + ".parquet";
}

class ParquetFooterTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(make_folders(folder_)); }
  void TearDown() override { remove_tree(folder_); }

  /// What the engine writes of a query.
  std::string written(const std::string& sql, const std::string& options) {
    std::string path = folder_ + "/" + std::to_string(++files_) + ".parquet";
    const auto done = engine().run("COPY (" + sql + ") TO " + sql_quoted(path) + " " + options);
    EXPECT_TRUE(done) << done.error().message;
    return path;
  }
  std::string packed_by(const std::string& codec) {
    return written("SELECT range AS x, 'text ' || range AS t FROM range(3000)",
                   "(FORMAT parquet, COMPRESSION " + codec + ")");
  }
  static Connection& engine() { return SharedEngine::connection(); }

  static int64_t said(const std::string& what, const std::string& path) {
    return engine()
        .integer("SELECT (" + what + ")::BIGINT FROM parquet_metadata(" + sql_quoted(path) + ")")
        .value();
  }

  const std::string folder_ = testing::TempDir() + "parquet_footer_" + std::to_string(::getpid());
  int files_ = 0;
};

void expect_code(const Result<ParquetFooter>& footer, ErrorCode code) {
  ASSERT_FALSE(footer);
  EXPECT_EQ(footer.error().code, code) << footer.error().message;
}

/// A file of nothing but this footer.
std::string file_of(const std::string& footer) {
  std::string file = "PAR1" + footer;
  for (int shift = 0; shift < 32; shift += 8) file += static_cast<char>(footer.size() >> shift & 255);
  return file + "PAR1";
}

TEST_F(ParquetFooterTest, HasTheFiguresOfABundle) {
  for (const std::string table : {"tracks", "spans", "kernels", "copies"}) {
    const std::string path = bundle_file(table);
    const auto footer = read_parquet_footer(path);
    ASSERT_TRUE(footer) << footer.error().message;
    EXPECT_EQ(footer->file_bytes, file_size(path).value());
    EXPECT_EQ(footer->all.compressed_bytes, said("sum(total_compressed_size)", path));
    EXPECT_EQ(footer->all.uncompressed_bytes, said("sum(total_uncompressed_size)", path));
    EXPECT_EQ(static_cast<int64_t>(footer->columns.size()), said("count(*)", path));
    EXPECT_EQ(footer->rows, said("max(num_values)", path));
    EXPECT_EQ(footer->row_groups, 1);
    EXPECT_GE(footer->all.pages, footer->all.chunks);
    EXPECT_TRUE(footer->all.uses(ParquetCodec::kZstd));
    EXPECT_TRUE(check_parquet_codecs(*footer));
  }
  const auto names =
      engine().column_names("FROM read_parquet(" + sql_quoted(bundle_file("spans")) + ")").value();
  const auto spans = read_parquet_footer(bundle_file("spans"));
  for (size_t c = 0; c < names.size(); c++) EXPECT_EQ(spans->columns[c].name, names[c]);
}

TEST_F(ParquetFooterTest, CountsRowGroupsAndPages) {
  const std::string sql =
      "SELECT range AS id, range % 7 AS few, 'name ' || (range % 90) AS name, random() AS part, NULL::BIGINT "
      "AS none "
      "FROM range(200000)";
  for (const auto& options : {parquet_options(200'000), parquet_options(100, 5 << 20)}) {
    const auto footer = read_parquet_footer(written(sql, options));
    ASSERT_TRUE(footer) << footer.error().message;
    EXPECT_TRUE(check_parquet_codecs(*footer)) << footer->all.codecs << " " << footer->all.encodings;
    EXPECT_EQ(footer->rows, 200'000);
    EXPECT_EQ(footer->row_groups, 4);
    EXPECT_EQ(footer->most_rows_in_group, 61'440);
    EXPECT_EQ(footer->all.chunks, 20);
  }
  const auto footer = read_parquet_footer(written(sql, parquet_options(int64_t{1} << 40)));
  const ParquetColumn& name = footer->columns[2];
  EXPECT_EQ(name.name, "name");
  EXPECT_EQ(name.figures.most_dictionary_values, 90);
  EXPECT_EQ(name.figures.largest_dictionary_bytes, 10 * 10 + 80 * 11);
  EXPECT_EQ(name.figures.pages, 8);
  EXPECT_GE(footer->columns[3].figures.largest_page_bytes, 8 * 61'440);
}

/// What the footer claims is known without unpacking a page: rows, and values that are large but pack well.
TEST_F(ParquetFooterTest, TellsSmallFilesThatBecomeLarge) {
  const auto rows =
      read_parquet_footer(written("SELECT 1 AS x FROM range(3000000)", parquet_options(int64_t{1} << 40)));
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_LT(rows->file_bytes, 20'000);
  EXPECT_EQ(rows->rows, 3'000'000);
  const auto texts = read_parquet_footer(
      written("SELECT repeat('x', 1000000) || range AS name FROM range(30)", parquet_options(30)));
  ASSERT_TRUE(texts) << texts.error().message;
  EXPECT_LT(texts->file_bytes, 30'000);
  EXPECT_GT(texts->all.uncompressed_bytes, 30'000'000);
  EXPECT_GT(texts->all.largest_page_bytes, 29'000'000);
  const auto repeated =
      read_parquet_footer(written("SELECT repeat('x', 1000000) AS name FROM range(50)", parquet_options(50)));
  ASSERT_TRUE(repeated) << repeated.error().message;
  EXPECT_GE(repeated->all.largest_dictionary_bytes, 1'000'000);
}

TEST_F(ParquetFooterTest, RefusesCodecsThatAreNeverWritten) {
  for (const auto& [name, codec] : {std::pair{"brotli", ParquetCodec::kBrotli},
                                    {"snappy", ParquetCodec::kSnappy},
                                    {"gzip", ParquetCodec::kGzip},
                                    {"lz4_raw", ParquetCodec::kLz4Raw},
                                    {"uncompressed", ParquetCodec::kNone}}) {
    const auto footer = read_parquet_footer(packed_by(name), ParquetPages::kSkip);
    ASSERT_TRUE(footer) << footer.error().message;
    EXPECT_TRUE(footer->all.uses(codec)) << name;
    const auto checked = check_parquet_codecs(*footer);
    ASSERT_FALSE(checked) << name;
    EXPECT_EQ(checked.error().code, ErrorCode::kUnsupported);
  }
  EXPECT_TRUE(check_parquet_codecs(*read_parquet_footer(packed_by("zstd"))));
}

/// A bundle whose spans somebody packed anew: the engine does not get to see them, other tables can be asked.
TEST_F(ParquetFooterTest, KeepsForeignFilesFromTheEngine) {
  const std::string bundle = folder_ + "/bundle";
  std::filesystem::copy(source_folder() + "/tests/fixtures/run_1", bundle);
  ASSERT_TRUE(bundle_faults(bundle, 10)->empty());
  const std::string spans = "SELECT * FROM read_parquet(" + sql_quoted(bundle_file("spans")) + ")";
  ASSERT_TRUE(engine().run("COPY (" + spans + ") TO " + sql_quoted(bundle + "/spans.parquet") +
                           " (FORMAT parquet, COMPRESSION brotli)"));
  EXPECT_EQ(bundle_faults(bundle, 10)->size(), 1u);
  const auto own = Engine::open({}).value();
  auto connection = own->connect().value();
  ASSERT_TRUE(create_views(connection, run_files(place_in_ledger(bundle)).value(), false));
  EXPECT_FALSE(connection.integer("SELECT count(*) FROM spans"));
  EXPECT_EQ(connection.integer("SELECT count(*) FROM kernels").value(), 2);
  std::filesystem::copy(packed_by("brotli"), bundle + "/tracks.parquet",
                        std::filesystem::copy_options::overwrite_existing);
  const auto refused = create_views(connection, run_files(place_in_ledger(bundle)).value(), false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kIo);
}

TEST_F(ParquetFooterTest, RefusesWhatIsNoFlatTable) {
  const std::string options = parquet_options(1);
  expect_code(read_parquet_footer(written("SELECT [1, 2] AS list", options)), ErrorCode::kBadInput);
  expect_code(read_parquet_footer(written("SELECT {'a': 1, 'b': 2} AS pair", options)), ErrorCode::kBadInput);
}

TEST_F(ParquetFooterTest, RefusesWhatIsNoParquetFile) {
  expect_code(read_parquet_footer(folder_), ErrorCode::kBadInput);
  expect_code(read_parquet_footer("/dev/zero"), ErrorCode::kBadInput);
  expect_code(read_parquet_footer(folder_ + "/none"), ErrorCode::kNotFound);
  for (const std::string& text : {std::string(), std::string("PAR1"), std::string("PAR1PAR1"),
                                  std::string("PAR1 no more"), file_of(""), file_of("x")}) {
    expect_code(parse_parquet_footer(text), ErrorCode::kBadInput);
  }
}

TEST_F(ParquetFooterTest, RefusesAFooterThatIsTooLarge) {
  const std::string tail = file_of(std::string(1, '\0')).substr(5);
  std::string file(static_cast<size_t>(kMostFooterBytes) + 20, '\0');
  file.replace(file.size() - tail.size(), tail.size(), tail);
  file[file.size() - 5] = static_cast<char>(kMostFooterBytes >> 24);  // and 1 byte more
  expect_code(parse_parquet_footer(file), ErrorCode::kLimit);
}

/// Version, a schema of one root without columns, no rows, no groups.
const std::string kVersion = "\x15\x02";
const std::string kSchema = std::string("\x19\x1c\x48\x01r\x15\0\0", 8);
const std::string kRows = std::string("\x16\0", 2);
const std::string kGroups = "\x19\x0c";
const std::string kEnd = std::string(1, '\0');

TEST_F(ParquetFooterTest, ReadsTheSmallestFooter) {
  const auto footer = parse_parquet_footer(file_of(kVersion + kSchema + kRows + kGroups + kEnd));
  ASSERT_TRUE(footer) << footer.error().message;
  EXPECT_EQ(footer->rows, 0);
  EXPECT_TRUE(footer->columns.empty());
}

/// Such bytes are read one way here and another way by the engine, or take more than they are.
TEST_F(ParquetFooterTest, RefusesFootersOfTwoMeanings) {
  const std::string deep = "\x39" + std::string(40, '\x19') + std::string(1, '\0');
  const std::string many = "\x19\xfc\xff\xff\xff\xff\x07";
  for (const std::string& footer :
       {kVersion + kSchema + kRows + std::string("\x06\x06\x02", 3) + kGroups + kEnd,  // rows given twice
        kVersion + kSchema + kRows + kGroups + kEnd + kEnd,                            // bytes behind the end
        kVersion + kSchema + kRows + kGroups,                                          // no end
        kVersion + kSchema + "\x16\x02" + kGroups + kEnd,                              // a row, but no group
        kVersion + kSchema + "\x16\x01" + kGroups + kEnd,                              // -1 rows
        kVersion + kSchema + kRows + kGroups + std::string("\x4c\0", 2) + kEnd,        // encrypted
        kVersion + kSchema + kRows + kGroups + deep + kEnd,                            // lists in lists
        kVersion + many + kEnd,                                                        // 2^31 elements
        kVersion + kSchema + kRows + kGroups + std::string("\x1b\0", 2) + kEnd}) {     // a map
    expect_code(parse_parquet_footer(file_of(footer)), ErrorCode::kBadInput);
  }
}

/// Each byte of a real file is changed in some ways. Whatever is still accepted keeps its bounds.
TEST_F(ParquetFooterTest, SurvivesDamage) {
  for (const std::string table : {"tracks", "kernels"}) {
    const std::string file = read_file(bundle_file(table)).value();
    const auto whole = parse_parquet_footer(file);
    size_t refused = 0;
    for (size_t at = 0; at < file.size(); at++) {
      for (const int change : {0x01, 0x10, 0x7f, 0x80, 0xff}) {
        std::string damaged = file;
        damaged[at] = static_cast<char>(damaged[at] ^ change);
        const auto footer = parse_parquet_footer(damaged);
        refused += footer ? 0 : 1;
        if (!footer) continue;
        EXPECT_EQ(footer->columns.size(), whole->columns.size());
        EXPECT_EQ(footer->rows, whole->rows);  // stands in many places, which must agree
        EXPECT_LE(footer->all.compressed_bytes, footer->file_bytes);
        EXPECT_LE(footer->all.largest_page_bytes, footer->all.uncompressed_bytes);
      }
    }
    EXPECT_GT(refused, file.size());
    for (size_t size = 0; size < file.size(); size++) {
      expect_code(parse_parquet_footer(std::string_view(file).substr(0, size)), ErrorCode::kBadInput);
    }
  }
}

}  // namespace
}  // namespace nl::store
