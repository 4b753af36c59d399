#include "store/table_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "base/files.h"

namespace nl::store {
namespace {

using model::TableId;

std::shared_ptr<model::Batch> kernels(size_t rows) {
  auto batch = std::make_shared<model::Batch>();
  for (size_t row = 0; row < rows; row++) {
    batch->add_row(TableId::kernels);
    batch->set(TableId::kernels, row, model::kernels::start_ns, static_cast<int64_t>(row));
  }
  return batch;
}

/// A batch holds the rows of all tables: one that waits for the rare rows of one table takes all of its
/// memory.
TEST(TableWriter, LetsGoOfBatchesWithFewRows) {
  const std::string folder = testing::TempDir() + "table_writer_" + std::to_string(::getpid());
  ASSERT_TRUE(make_folders(folder));
  auto engine = Engine::open({1, 200, folder}).value();
  TableWriter writer(engine, TableId::kernels, folder + "/kernels.parquet", TableWriter::Columns::kUsed,
                     UINT64_MAX);
  ASSERT_TRUE(writer.push(kernels(61'441)));  // large: written from here on
  std::vector<std::weak_ptr<model::Batch>> given;
  for (int i = 0; i < 200; i++) {
    auto batch = kernels(1);
    given.push_back(batch);
    ASSERT_TRUE(writer.push(std::move(batch)));
  }
  const auto alive = std::count_if(given.begin(), given.end(), [](const auto& b) { return !b.expired(); });
  EXPECT_EQ(alive, 0);
  const auto file = writer.finish();
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->rows, 61'641);
  remove_tree(folder);
}

}  // namespace
}  // namespace nl::store
