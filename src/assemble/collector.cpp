#include "assemble/collector.h"

namespace nl::assemble {

using model::kNull;
using model::TableId;

Result<void> Collector::push(std::shared_ptr<model::Batch> batch) {
  if (complete_) {
    NL_CHECK(add_spans(*batch));
    NL_CHECK(add_work(*batch, TableId::kernels, model::kernels::track_id, model::kernels::correlation_id,
                      kernels));
    NL_CHECK(
        add_work(*batch, TableId::copies, model::copies::track_id, model::copies::correlation_id, copies));
    add_scopes(batch->rows(TableId::tracks));
    const bool too_many =
        spans.size() > SpanForest::kMaxSpans || kernels.size() + copies.size() > kMaxDeviceRows;
    if (too_many) give_up();
  }
  return next_.push(std::move(batch));
}

namespace {

SpanRank rank_of(int64_t kind) {
  switch (static_cast<model::SpanKind>(kind)) {
    case model::SpanKind::op:
      return SpanRank::kOp;
    case model::SpanKind::runtime:
      return SpanRank::kRuntime;
    default:
      return SpanRank::kOuter;
  }
}

}  // namespace

Result<void> Collector::add_spans(const model::Batch& batch) {
  namespace columns = model::spans;
  const auto& rows = batch.rows(TableId::spans);
  for (size_t i = 0; i < rows.size(); i++) {
    const SpanRank rank = rank_of(rows.cell(i, columns::kind));
    const auto span_id = static_cast<uint32_t>(spans.size());
    const int64_t track = rows.cell(i, columns::track_id);
    const int64_t duration = rows.cell(i, columns::dur_ns);
    NL_CHECK(spans.add(rows.cell(i, columns::start_ns), duration == kNull ? 0 : duration,
                       track == kNull ? -1 : batch.track_ids[static_cast<size_t>(track)], rank));
    const int64_t correlation = rank != SpanRank::kOuter ? rows.cell(i, columns::correlation_id) : kNull;
    if (correlation != kNull && correlation != 0) NL_CHECK(launches.push({correlation, span_id}));
  }
  return {};
}

Result<void> Collector::add_work(const model::Batch& batch, TableId table, int track, int correlation,
                                 SpillVector<LaunchedWork>& to) {
  const auto& rows = batch.rows(table);
  for (size_t row = 0; row < rows.size(); row++) {
    const int64_t on = rows.cell(row, track);
    NL_CHECK(
        to.push({rows.cell(row, correlation), on == kNull ? -1 : batch.track_ids[static_cast<size_t>(on)]}));
  }
  return {};
}

void Collector::add_scopes(const model::Rows& tracks) {
  if (tracks.has_values(model::tracks::id_scope) || !id_scopes.empty()) {
    id_scopes.resize(tracks_, kNoScope);
    for (size_t row = 0; row < tracks.size(); row++) {
      const int64_t scope = tracks.cell(row, model::tracks::id_scope);
      id_scopes.push_back(scope == kNull ? kNoScope : static_cast<int32_t>(scope));
    }
  }
  tracks_ += tracks.size();
}

void Collector::give_up() {
  complete_ = false;
  spans.clear();
  launches.clear();
  kernels.clear();
  copies.clear();
  id_scopes.clear();
}

}  // namespace nl::assemble
