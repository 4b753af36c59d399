#include "store/parquet_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/files.h"
#include "store/engine.h"
#include "store/parquet_footer.h"

namespace nl::store {
namespace {

namespace kernels = model::kernels;
using model::kNull;
using model::TableId;

class ParquetWriterTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(make_folders(folder_)); }
  void TearDown() override { remove_tree(folder_); }

  /// A batch of random rows; `fill` sets cells of one.
  template <class Fill>
  static std::shared_ptr<model::Batch> batch(size_t rows, Fill fill) {
    auto made = std::make_shared<model::Batch>();
    for (size_t i = 0; i < rows; i++) fill(*made, made->add_row(TableId::kernels));
    return made;
  }

  std::string path() const { return folder_ + "/kernels.parquet"; }

  std::vector<std::optional<std::string>> read(const std::string& column) {
    auto engine = Engine::open({1, 200, folder_}).value();
    auto connection = engine->connect().value();
    std::vector<std::optional<std::string>> cells;
    const auto done = connection.stream("SELECT " + column + "::VARCHAR FROM read_parquet('" + path() + "')",
                                        [&](const Chunk& chunk) -> Result<void> {
                                          for (size_t i = 0; i < chunk.size(); i++) {
                                            cells.emplace_back();
                                            if (!chunk.is_null(0, i)) cells.back() = chunk.text(0, i);
                                          }
                                          return {};
                                        });
    EXPECT_TRUE(done) << done.error().message;
    return cells;
  }

  const std::string folder_ = testing::TempDir() + "parquet_writer_" + std::to_string(::getpid());
};

/// Every way to store numbers: dictionaries, differences of all widths, the ends of their range, NULL among
/// values and for whole row groups.
TEST_F(ParquetWriterTest, NumbersComeBack) {
  std::mt19937_64 random(7);
  std::map<int, std::vector<int64_t>> given;
  ParquetWriter writer(TableId::kernels, path(), 0);
  ASSERT_TRUE(writer.open());
  size_t at = 0;
  for (const size_t rows : {1u, 6000u, 61'439u, 1u, 70'000u, 12'345u}) {
    const auto made = batch(rows, [&](model::Batch& to, size_t row) {
      const auto set = [&](int column, int64_t value) {
        given[column].push_back(value);
        if (value != kNull) to.set(TableId::kernels, row, column, value);
      };
      set(kernels::stream, static_cast<int64_t>(at % 7));
      set(kernels::start_ns, static_cast<int64_t>(at * 1000 + random() % 5000));
      set(kernels::dur_ns,
          random() % 10 == 0 ? kNull : static_cast<int64_t>(random() >> (random() % 63 + 1)));
      const auto any = static_cast<int64_t>(random());
      set(kernels::correlation_id, any == kNull ? 0 : any);
      set(kernels::context_id, at % 1000 == 3 ? INT32_MIN : at % 1000 == 4 ? INT32_MAX : kNull);
      set(kernels::registers_per_thread, static_cast<int32_t>(random()));
      set(kernels::device, at > 100'000 ? static_cast<int64_t>(random() % 3) - 1 : kNull);
      set(kernels::queued, at == 130'000 ? 5 : kNull);
      at++;
    });
    ASSERT_TRUE(writer.add(*made));
  }
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(writer.rows(), static_cast<int64_t>(at));
  for (const auto& [column, values] : given) {
    const std::string name(model::table(TableId::kernels).columns[static_cast<size_t>(column)].name);
    const auto cells = read(name);
    ASSERT_EQ(cells.size(), values.size()) << name;
    for (size_t i = 0; i < cells.size(); i++)
      ASSERT_EQ(cells[i].value_or("NULL"), values[i] == kNull ? "NULL" : std::to_string(values[i]))
          << name << " " << i;
  }
  const auto footer = read_parquet_footer(path());
  ASSERT_TRUE(footer) << footer.error().message;
  EXPECT_TRUE(check_parquet_codecs(*footer));
  EXPECT_EQ(footer->columns.size(), given.size());
  EXPECT_EQ(footer->row_groups, 3);
}

/// Few different texts, many, and more than a dictionary takes in the middle of a row group.
TEST_F(ParquetWriterTest, TextComesBack) {
  std::vector<std::string> names, args;
  ParquetWriter writer(TableId::kernels, path(), 0);
  ASSERT_TRUE(writer.open());
  size_t at = 0;
  for (int b = 0; b < 30; b++) {
    const auto made = batch(5000, [&](model::Batch& to, size_t row) {
      names.push_back(at % 3 == 0 ? "NULL" : "kernel " + std::to_string(at % (at < 80'000 ? 40 : 2500)));
      args.push_back(at < 1000 ? "" : std::string(at % 40, 'x') + std::to_string(at));
      if (names.back() != "NULL") to.set_text(TableId::kernels, row, kernels::name, names.back());
      to.set_text(TableId::kernels, row, kernels::args, args.back());
      at++;
    });
    ASSERT_TRUE(writer.add(*made));
  }
  ASSERT_TRUE(writer.finish());
  const auto found_names = read("name"), found_args = read("args");
  ASSERT_EQ(found_names.size(), names.size());
  for (size_t i = 0; i < names.size(); i++) {
    ASSERT_EQ(found_names[i].value_or("NULL"), names[i]) << i;
    ASSERT_EQ(found_args[i].value_or("NULL"), args[i]) << i;
  }
}

uint64_t bits_of_text(const std::string& number) {
  return std::bit_cast<uint64_t>(std::strtod(number.c_str(), nullptr));
}

TEST_F(ParquetWriterTest, DoublesKeepTheirBits) {
  const std::vector<double> special = {0.0, 0.5, 1e-310, 1.0 / 3, -1e300};
  std::vector<double> given;
  ParquetWriter writer(TableId::kernels, path(), 0);
  ASSERT_TRUE(writer.open());
  const auto made = batch(5000, [&](model::Batch& to, size_t row) {
    given.push_back(row < special.size() ? special[row] : static_cast<double>(row) / 7);
    to.set_double(TableId::kernels, row, kernels::occupancy_pct, given.back());
    to.set_double(TableId::kernels, row, kernels::warps_per_sm, given[row % 5]);
  });
  ASSERT_TRUE(writer.add(*made));
  ASSERT_TRUE(writer.finish());
  const auto many = read("occupancy_pct"), few = read("warps_per_sm");
  for (size_t i = 0; i < given.size(); i++) {
    ASSERT_EQ(bits_of_text(*many[i]), std::bit_cast<uint64_t>(given[i])) << i;
    ASSERT_EQ(bits_of_text(*few[i]), std::bit_cast<uint64_t>(given[i % 5])) << i;
  }
}

TEST_F(ParquetWriterTest, WantedColumnsAreThereWithoutValues) {
  ParquetWriter writer(TableId::kernels, path(), uint64_t{1} << kernels::queued);
  ASSERT_TRUE(writer.open());
  const auto made =
      batch(10, [&](model::Batch& to, size_t row) { to.set(TableId::kernels, row, kernels::stream, 3); });
  ASSERT_TRUE(writer.add(*made));
  ASSERT_TRUE(writer.finish());
  const auto footer = read_parquet_footer(path());
  ASSERT_TRUE(footer) << footer.error().message;
  EXPECT_EQ(footer->columns.size(), 2);
  EXPECT_EQ(read("queued"), std::vector<std::optional<std::string>>(10));
}

/// Row groups end by rows and text, wherever batches end.
TEST_F(ParquetWriterTest, BytesDoNotDependOnBatches) {
  std::string first;
  for (const size_t in_batch : {1u, 7u, 60u}) {
    ParquetWriter writer(TableId::kernels, path(), 0);
    ASSERT_TRUE(writer.open());
    for (size_t at = 0; at < 60; at += in_batch) {
      size_t row_of_all = at;
      const auto made = batch(std::min(in_batch, 60 - at), [&](model::Batch& to, size_t row) {
        const std::string name(size_t{1} << 20, static_cast<char>('0' + row_of_all++));
        to.set_text(TableId::kernels, row, kernels::name, name);
      });
      ASSERT_TRUE(writer.add(*made));
    }
    ASSERT_TRUE(writer.finish());
    const std::string bytes = read_file(path()).value();
    if (first.empty()) first = bytes;
    EXPECT_EQ(bytes == first, true) << in_batch;  // a difference of megabytes need not be shown
    EXPECT_EQ(read_parquet_footer(path())->row_groups, 2);
  }
}

TEST_F(ParquetWriterTest, FewRowsWithVeryMuchTextAreRefused) {
  ParquetWriter writer(TableId::kernels, path(), 0);
  ASSERT_TRUE(writer.open());
  const auto made = batch(6, [&](model::Batch& to, size_t row) {
    to.set_text(TableId::kernels, row, kernels::name,
                std::string(size_t{8} << 20, static_cast<char>('0' + row)));
  });
  const auto done = writer.add(*made);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kLimit);
}

}  // namespace
}  // namespace nl::store
