#pragma once
// DerivedWriter: writes one derived table of a run, row by row. It owns the writer of the Parquet file and
// hands over the rows in batches.

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "model/batch.h"
#include "store/bundle_writer.h"
#include "store/table_writer.h"

namespace nl::assemble {

/// File of a derived table in their folder.
inline std::string derived_path(const std::string& folder, model::TableId table) {
  return folder + "/" + store::table_file_name(model::table(table).name);
}

/// Rows of one derived table, in batches to a writer. Cells without a value stay NULL.
class DerivedWriter {
 public:
  DerivedWriter(const std::shared_ptr<store::Engine>& engine, model::TableId table, const std::string& folder)
      : table_(table),
        writer_(engine, table, derived_path(folder, table), store::TableWriter::Columns::kAll) {}

  size_t add() { return batch_->add_row(table_); }
  void set(size_t row, int column, int64_t value) {
    if (value != model::kNull) batch_->set(table_, row, column, value);
  }
  void set_double(size_t row, int column, double value) { batch_->set_double(table_, row, column, value); }
  void set_text(size_t row, int column, std::string_view text) {
    batch_->set_text(table_, row, column, text);
  }
  /// To be called after each row.
  Result<void> flush_if_full() {
    if (batch_->rows(table_).size() < kBatchRows) return {};
    return writer_.push(std::exchange(batch_, new_batch()));
  }
  Result<void> finish() {
    if (batch_->rows(table_).size() > 0) NL_CHECK(writer_.push(std::move(batch_)));
    NL_CHECK(writer_.finish());
    return {};
  }

 private:
  static constexpr size_t kBatchRows = size_t{32} << 10;

  std::shared_ptr<model::Batch> new_batch() {
    auto batch = pool_.take();
    batch->rows(table_).reserve(kBatchRows);
    return batch;
  }

  model::TableId table_;
  model::BatchPool pool_;
  store::TableWriter writer_;
  std::shared_ptr<model::Batch> batch_ = new_batch();
};

}  // namespace nl::assemble
