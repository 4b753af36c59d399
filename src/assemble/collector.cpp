#include "assemble/collector.h"

namespace nl::assemble {

using model::kNull;
using model::TableId;

Result<void> Collector::push(std::shared_ptr<model::Batch> batch) {
  if (complete_) {
    add_spans(*batch);
    add_correlations(batch->rows(TableId::kernels), model::kernels::correlation_id, kernels);
    add_correlations(batch->rows(TableId::copies), model::copies::correlation_id, copies);
    if (spans.size() > kMaxRows || kernels.size() + copies.size() > kMaxRows) give_up();
  }
  return next_.push(std::move(batch));
}

void Collector::add_spans(const model::Batch& batch) {
  namespace columns = model::spans;
  const auto& rows = batch.rows(TableId::spans);
  if (rows.size() == 0) return;
  const int64_t* const kinds = rows.column(columns::kind);
  const int64_t* const starts = rows.column(columns::start_ns);
  const int64_t* const durations = rows.column(columns::dur_ns);
  const int64_t* const tracks = rows.column(columns::track_id);
  const int64_t* const correlations = rows.column(columns::correlation_id);
  int64_t last_kind = kNull;
  SpanRank rank = SpanRank::kOuter;
  for (size_t i = 0; i < rows.size(); i++) {
    if (kinds[i] != last_kind) {
      last_kind = kinds[i];
      const std::string_view kind =
          last_kind == kNull ? std::string_view() : batch.strings[static_cast<size_t>(last_kind)];
      rank = kind == "op" ? SpanRank::kOp : kind == "runtime" ? SpanRank::kRuntime : SpanRank::kOuter;
    }
    const auto span_id = static_cast<int64_t>(spans.size());
    const int32_t track = tracks[i] == kNull ? -1 : batch.track_ids[static_cast<size_t>(tracks[i])];
    spans.push_back({starts[i], durations[i] == kNull ? 0 : durations[i], span_id, track, rank});
    if (rank == SpanRank::kRuntime && correlations[i] != kNull && correlations[i] != 0) {
      launches.push_back({correlations[i], span_id});
    }
  }
}

void Collector::add_correlations(const model::Rows& rows, int column, std::vector<int64_t>& to) {
  if (rows.size() == 0) return;
  const int64_t* const cells = rows.column(column);
  to.insert(to.end(), cells, cells + rows.size());
}

void Collector::give_up() {
  complete_ = false;
  std::vector<SpanRecord>().swap(spans);
  std::vector<Launch>().swap(launches);
  std::vector<int64_t>().swap(kernels);
  std::vector<int64_t>().swap(copies);
}

}  // namespace nl::assemble
