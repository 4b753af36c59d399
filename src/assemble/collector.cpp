#include "assemble/collector.h"

namespace nl::assemble {

using model::kNull;
using model::TableId;

namespace {

SpanRank rank_of(model::SpanKind kind) {
  switch (kind) {
    case model::SpanKind::op:
      return SpanRank::kOp;
    case model::SpanKind::runtime:
      return SpanRank::kRuntime;
    default:
      return SpanRank::kOuter;
  }
}

int32_t track_of(const model::Batch& batch, int64_t track) {
  return track == kNull ? -1 : batch.track_ids[static_cast<size_t>(track)];
}

void add_work(const model::Batch& batch, TableId table, int track, int correlation,
              PagedVector<LaunchedWork>& to) {
  const auto& rows = batch.rows(table);
  for (size_t row = 0; row < rows.size(); row++)
    to.push_back({{rows.cell(row, correlation)}, track_of(batch, rows.cell(row, track))});
}

}  // namespace

Result<void> Collected::add_span(model::SpanKind kind, int64_t start_ns, int64_t dur_ns, int32_t track_id,
                                 int64_t correlation_id) {
  if (spans.size() == SpanForest::kMostSpans)
    return Error{ErrorCode::kLimit, "a run may have 4,294,967,294 spans, and this one has more"};
  const SpanRank rank = rank_of(kind);
  const auto span_id = static_cast<uint32_t>(spans.size());
  spans.add(start_ns, dur_ns == kNull ? 0 : dur_ns, track_id, rank);
  const bool may_launch = rank != SpanRank::kOuter && correlation_id != kNull && correlation_id != 0;
  if (may_launch) launches.push_back({correlation_id, start_ns, span_id});
  return {};
}

void Collected::add_sync(int64_t start_ns, int64_t dur_ns, int32_t track_id) {
  int64_t end_ns = 0;
  if (start_ns == kNull || dur_ns < 0 || __builtin_add_overflow(start_ns, dur_ns, &end_ns)) return;
  syncs.push_back({start_ns, end_ns, track_id});
}

/// Kernels of graphs are left out: one call launches them all, some long after it.
KernelTime KernelFields::time() const {
  constexpr int64_t kFar = 4'000'000'000'000'000'000;  // start + duration stay within int64
  const bool says = device != kNull && graph_id == kNull && start_ns > -kFar && start_ns < kFar &&
                    dur_ns >= 0 && dur_ns < kFar;
  return {start_ns, dur_ns, says ? static_cast<int32_t>(device) : KernelTime::kSaysNothing};
}

/// nsys appends a version to these names.
bool waits_for_device(std::string_view call) {
  return call.starts_with("cudaDeviceSynchronize") || call.starts_with("hipDeviceSynchronize") ||
         call.starts_with("cuCtxSynchronize");
}

Result<void> Collector::push(std::shared_ptr<model::Batch> batch) {
  namespace kernels = model::kernels;
  namespace copies = model::copies;
  NL_CHECK(add_spans(*batch));
  add_kernel_times(*batch);
  add_work(*batch, TableId::kernels, kernels::track_id, kernels::correlation_id, collected_.kernels);
  add_work(*batch, TableId::copies, copies::track_id, copies::correlation_id, collected_.copies);
  add_scopes(batch->rows(TableId::tracks));
  add_clocks(batch->rows(TableId::tracks));
  return next_.push(std::move(batch));
}

Result<void> Collector::add_spans(const model::Batch& batch) {
  namespace columns = model::spans;
  const auto& rows = batch.rows(TableId::spans);
  for (size_t i = 0; i < rows.size(); i++) {
    const auto kind = static_cast<model::SpanKind>(rows.cell(i, columns::kind));
    const int64_t start_ns = rows.cell(i, columns::start_ns);
    const int64_t dur_ns = rows.cell(i, columns::dur_ns);
    const int32_t track = track_of(batch, rows.cell(i, columns::track_id));
    NL_CHECK(collected_.add_span(kind, start_ns, dur_ns, track, rows.cell(i, columns::correlation_id)));
    const int64_t name = kind == model::SpanKind::runtime ? rows.cell(i, columns::name) : kNull;
    if (name != kNull && waits_for_device(batch.strings[static_cast<size_t>(name)]))
      collected_.add_sync(start_ns, dur_ns, track);
  }
  return {};
}

void Collector::add_kernel_times(const model::Batch& batch) {
  namespace columns = model::kernels;
  const auto& rows = batch.rows(TableId::kernels);
  for (size_t i = 0; i < rows.size(); i++) {
    const KernelFields kernel{rows.cell(i, columns::device), rows.cell(i, columns::graph_id),
                              rows.cell(i, columns::start_ns), rows.cell(i, columns::dur_ns)};
    collected_.kernel_times.push_back(kernel.time());
  }
}

void Collector::add_clocks(const model::Rows& tracks) {
  for (size_t row = 0; row < tracks.size(); row++) {
    const int64_t clock = tracks.cell(row, model::tracks::clock_id);
    collected_.clocks.push_back(clock == kNull ? 0 : static_cast<int32_t>(clock));
  }
}

void Collector::add_scopes(const model::Rows& tracks) {
  auto& scopes = collected_.id_scopes;
  if (tracks.has_values(model::tracks::id_scope) || !scopes.empty()) {
    scopes.resize(tracks_, Collected::kNoScope);
    for (size_t row = 0; row < tracks.size(); row++) {
      const int64_t scope = tracks.cell(row, model::tracks::id_scope);
      scopes.push_back(scope == kNull ? Collected::kNoScope : static_cast<int32_t>(scope));
    }
  }
  tracks_ += tracks.size();
}

}  // namespace nl::assemble
