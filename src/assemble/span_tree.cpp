#include "assemble/span_tree.h"

#include "model/batch.h"

namespace nl::assemble {

using model::kNull;

SpanPlace SpanStack::add(const SpanRecord& span) {
  if (span.track_id != track_id_) open_.clear();
  track_id_ = span.track_id;
  while (!open_.empty() && open_.back().end_ns <= span.start_ns) open_.pop_back();
  const int64_t end_ns = span.start_ns + span.dur_ns;
  SpanPlace place{kNull, kNull, static_cast<int32_t>(open_.size()), false};
  if (!open_.empty()) {
    place.parent_id = open_.back().span_id;
    place.op_id = open_.back().op_id;
    place.crosses_parent = open_.back().end_ns < end_ns;
  }
  if (span.rank == SpanRank::kOp) place.op_id = span.span_id;
  open_.push_back({span.span_id, end_ns, place.op_id});
  return place;
}

}  // namespace nl::assemble
