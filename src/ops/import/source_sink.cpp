#include "ops/import/source_sink.h"

#include <algorithm>

namespace nl::ops {

using model::kNull;
using model::TableId;
namespace tracks = model::tracks;

namespace {

/// Adds to the cells of a column that have a value.
void move_cells(model::Rows& rows, int column, int64_t by) {
  for (size_t row = 0; by != 0 && row < rows.size(); row++) {
    const int64_t cell = rows.cell(row, column);
    if (cell != kNull) rows.set(row, column, cell + by);
  }
}

}  // namespace

void SourceSink::begin_source(size_t clocks_before, std::optional<int32_t> rank) {
  continue_source();
  first_track_ += tracks_;
  first_scope_ += scopes_;
  tracks_ = 0;
  scopes_ = 1;
  first_clock_ = static_cast<int64_t>(clocks_before);
  rank_ = rank;
}

void SourceSink::continue_source() {
  first_launch_ += launches_;
  first_kernel_ += kernels_;
  launches_ = kernels_ = 0;
}

Result<void> SourceSink::push(std::shared_ptr<model::Batch> batch) {
  if (!alone_) {
    move_tracks(*batch);
    move_launches(*batch);
    launches_ += static_cast<int64_t>(batch->rows(TableId::profiled_launches).size());
    kernels_ += static_cast<int64_t>(batch->rows(TableId::kernels).size());
  }
  return next_.push(std::move(batch));
}

void SourceSink::move_tracks(model::Batch& batch) {
  auto& rows = batch.rows(TableId::tracks);
  tracks_ += static_cast<int32_t>(rows.size());
  for (int32_t& id : batch.track_ids) id += first_track_;
  move_cells(rows, tracks::clock_id, first_clock_);
  for (size_t row = 0; row < rows.size(); row++) {
    const int64_t scope = std::max<int64_t>(rows.cell(row, tracks::id_scope), 0);
    scopes_ = std::max(scopes_, scope + 1);
    rows.set(row, tracks::id_scope, first_scope_ + scope);
    if (rank_ && rows.cell(row, tracks::rank) == kNull) rows.set(row, tracks::rank, *rank_);
  }
}

void SourceSink::move_launches(model::Batch& batch) const {
  namespace metrics = model::kernel_metrics;
  auto& rows = batch.rows(TableId::kernel_metrics);
  for (size_t row = 0; row < rows.size(); row++) {
    const bool of_kernel = rows.cell(row, metrics::kernel_id) != kNull;
    const int64_t launch = rows.cell(row, metrics::launch_id);
    if (launch != kNull)
      rows.set(row, metrics::launch_id, launch + (of_kernel ? first_kernel_ : first_launch_));
  }
  move_cells(rows, metrics::kernel_id, first_kernel_);
  move_cells(batch.rows(TableId::kernel_advice), model::kernel_advice::launch_id, first_launch_);
}

void SourceSink::expect(model::TableId table, uint64_t columns) {
  if (alone_) next_.expect(table, columns);
}

}  // namespace nl::ops
