#pragma once
// BundleWriter: writes the Parquet tables of one run to a folder while an adapter reads. It owns one writer
// per table; a table without rows gets no file. Batches must come in order; one thread at a time calls push.

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "model/run_sink.h"
#include "store/table_writer.h"

namespace nl::store {

class BundleWriter final : public model::RunSink {
 public:
  BundleWriter(std::shared_ptr<Engine> engine, std::string folder);

  Result<void> push(std::shared_ptr<model::Batch> batch) override;
  void expect(model::TableId table, uint64_t columns) override {
    expected_[static_cast<size_t>(table)] = columns;
  }
  /// Ends all files, hashes them and flushes them to the disk. In the order of tables.def.
  Result<std::vector<TableFile>> finish();

 private:
  std::shared_ptr<Engine> engine_;
  std::string folder_;
  std::array<std::unique_ptr<TableWriter>, model::kTableCount> writers_;
  std::array<int64_t, model::kTableCount> rows_{};
  std::array<uint64_t, model::kTableCount> expected_;
};

/// Name of a table's file in its folder.
std::string table_file_name(std::string_view table);

}  // namespace nl::store
