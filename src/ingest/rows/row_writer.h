#pragma once
// RowWriter: writes rows cell by cell into batches of bounded size; each text is stored once per batch. For
// sources that are read row by row; one thread.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "ingest/source/utf8.h"
#include "model/batch.h"
#include "model/run_info.h"
#include "model/run_sink.h"

namespace nl::ingest {

class RowWriter {
 public:
  RowWriter(model::RunSink& sink, model::RunInfo& info)
      : sink_(sink), info_(info), batch_(std::make_shared<model::Batch>()) {}

  size_t add(model::TableId table);
  void set(model::TableId table, size_t row, int column, int64_t value) {
    if (value != model::kNull) batch_->set(table, row, column, value);
  }
  void set_double(model::TableId table, size_t row, int column, double value) {
    batch_->set_double(table, row, column, value);
  }
  /// An empty text is NULL. Bytes that are no UTF-8 are replaced and counted.
  void set_text(model::TableId table, size_t row, int column, std::string_view text);
  /// The number of a text in the batch, kNull for an empty one; it holds as long as generation() does.
  int64_t text(std::string_view text);
  int64_t generation() const { return generation_; }
  /// `args` as one JSON object; none if it is empty.
  void set_args(model::TableId table, size_t row, int column, const std::map<std::string, std::string>& args);
  /// A cell of a track column.
  void set_track(model::TableId table, size_t row, int column, int32_t track);

  /// Passes the rows on if they are many. Rows begun before are no longer in reach then.
  Result<void> flush_if_large();
  Result<void> flush();

 private:
  static constexpr size_t kMaxRows = 64 << 10;
  static constexpr size_t kMaxTextBytes = 4 << 20;

  int64_t text_number(std::string_view text);

  model::RunSink& sink_;
  model::RunInfo& info_;
  std::shared_ptr<model::Batch> batch_;
  std::unordered_map<std::string_view, int64_t> texts_;
  std::map<int32_t, int64_t> tracks_;
  int64_t generation_ = 0;
  size_t rows_ = 0;
  size_t text_bytes_ = 0;
};

}  // namespace nl::ingest
