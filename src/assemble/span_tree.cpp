#include "assemble/span_tree.h"

#include <algorithm>

namespace nl::assemble {

using model::kNull;

SpanPlace SpanStack::add(const SpanRecord& span) {
  if (span.track_id != track_id_) clear();
  track_id_ = span.track_id;
  close_until(span.start_ns);
  const int64_t end_ns = span.start_ns + span.dur_ns;
  const size_t depth = crossed_ ? ends_.size() : open_.size();
  SpanPlace place{kNull, kNull, static_cast<int32_t>(depth), false};
  if (!open_.empty()) {
    place.parent_id = open_.back().span_id;
    place.op_id = open_.back().op_id;
    place.crosses_parent = open_.back().end_ns < end_ns;
    if (place.crosses_parent && !crossed_) begin_crossing();
  }
  if (span.rank == SpanRank::kOp) place.op_id = span.span_id;
  open_.push_back({span.span_id, end_ns, place.op_id});
  if (crossed_) ends_.push(end_ns);
  return place;
}

void SpanStack::clear() {
  open_.clear();
  ends_ = {};
  crossed_ = false;
}

/// Below a span that outlives its parent there may be ended ones. They stay in the stack until they come to
/// its top or are more than half of it, so each span is moved a constant number of times on the average.
void SpanStack::close_until(int64_t time_ns) {
  while (!open_.empty() && open_.back().end_ns <= time_ns) open_.pop_back();
  if (!crossed_) return;
  while (!ends_.empty() && ends_.top() <= time_ns) ends_.pop();
  if (open_.size() > 2 * ends_.size() + 16)
    std::erase_if(open_, [&](const Open& o) { return o.end_ns <= time_ns; });
  if (open_.empty()) crossed_ = false;
}

/// From here on the stack alone does not tell how many spans are open.
void SpanStack::begin_crossing() {
  crossed_ = true;
  for (const Open& open : open_) ends_.push(open.end_ns);
}

void SpanForest::add(int64_t start_ns, int64_t dur_ns, int32_t track_id, SpanRank rank) {
  if (dur_ns >= int64_t{kLong}) {
    long_durations_.push_back({dur_ns, static_cast<uint32_t>(spans_.size())});
    dur_ns = int64_t{kLong};
  }
  spans_.push_back({start_ns, static_cast<uint32_t>(dur_ns),
                    static_cast<uint32_t>(track_id + 1) * 4 + static_cast<uint32_t>(rank)});
}

int64_t SpanForest::duration(uint32_t span) const {
  const uint32_t packed = spans_[span].dur_ns;
  if (packed != kLong) return packed;
  return std::lower_bound(long_durations_.begin(), long_durations_.end(), span,
                          [](const LongDuration& l, uint32_t wanted) { return l.span < wanted; })
      ->dur_ns;
}

SpanRecord SpanForest::record(uint32_t span) const {
  const Packed& p = spans_[span];
  return {p.start_ns, duration(span), int64_t{span}, static_cast<int32_t>(p.track / 4) - 1,
          static_cast<SpanRank>(p.track % 4)};
}

/// By track, then outer before inner.
bool SpanForest::comes_before(uint32_t a, uint32_t b) const {
  const Packed& x = spans_[a];
  const Packed& y = spans_[b];
  if (x.track / 4 != y.track / 4) return x.track / 4 < y.track / 4;
  if (x.start_ns != y.start_ns) return x.start_ns < y.start_ns;
  if (x.dur_ns != y.dur_ns) return x.dur_ns > y.dur_ns;  // the long ones have the largest value of all
  if (x.dur_ns == kLong && duration(a) != duration(b)) return duration(a) > duration(b);
  if (x.track % 4 != y.track % 4) return x.track % 4 < y.track % 4;
  return a < b;
}

/// All spans, track by track, each in the order of the stack.
SpanForest::Order SpanForest::ordered() const {
  std::vector<uint32_t> ends;  // of each track in `order`
  for (const Packed& span : spans_) {
    if (span.track / 4 >= ends.size()) ends.resize(span.track / 4 + 1, 0);
    ends[span.track / 4]++;
  }
  for (size_t t = 1; t < ends.size(); t++) ends[t] += ends[t - 1];
  Order order(spans_.size());
  for (auto span = static_cast<uint32_t>(spans_.size()); span-- > 0;)
    order[--ends[spans_[span].track / 4]] = span;
  merge_runs(order);
  return order;
}

/// Profilers write a thread nearly in order. Neighbours are merged pair by pair, and only where they overlap,
/// so that what is in order already is not moved.
void SpanForest::merge_runs(Order& order) const {
  PagedVector<uint32_t> ends;
  for (size_t i = 1; i <= order.size(); i++) {
    if (i == order.size() || comes_before(order[i], order[i - 1])) ends.push_back(static_cast<uint32_t>(i));
  }
  Order aside;
  while (ends.size() > 1) {
    size_t begin = 0, kept = 0;
    for (size_t r = 0; r < ends.size(); r += 2) {
      const size_t middle = ends[r];
      const size_t end = r + 1 < ends.size() ? ends[r + 1] : middle;
      merge(order, begin, middle, end, aside);
      ends[kept++] = static_cast<uint32_t>(end);
      begin = end;
    }
    ends.resize(kept);
  }
}

/// Two neighbours, each in order.
void SpanForest::merge(Order& order, size_t begin, size_t middle, size_t end, Order& aside) const {
  if (middle == end) return;
  const auto before = [this](uint32_t a, uint32_t b) { return comes_before(a, b); };
  const auto at = [&](size_t i) { return order.begin() + static_cast<ptrdiff_t>(i); };
  const auto from = std::upper_bound(at(begin), at(middle), order[middle], before);
  const auto to = std::lower_bound(at(middle), at(end), order[middle - 1], before);
  aside.assign(from, at(middle));
  std::merge(aside.begin(), aside.end(), at(middle), to, from, before);
}

namespace {

uint64_t packed(int64_t id) {
  return id == kNull ? UINT32_MAX : static_cast<uint64_t>(id);
}

int64_t unpacked(uint32_t id) {
  return id == UINT32_MAX ? kNull : int64_t{id};
}

}  // namespace

void SpanForest::build() {
  SpanStack stack;
  for (const uint32_t span : ordered()) {
    const SpanPlace place = stack.add(record(span));
    // The stack has taken what it needs of this span: its place goes where its times were.
    spans_[span].start_ns = static_cast<int64_t>(packed(place.parent_id) << 32 | packed(place.op_id));
    spans_[span].dur_ns = static_cast<uint32_t>(place.depth) * 2 + (place.crosses_parent ? 1 : 0);
  }
}

SpanPlace SpanForest::place(size_t span_id) const {
  const Packed& p = spans_[span_id];
  const auto ids = static_cast<uint64_t>(p.start_ns);
  return {unpacked(static_cast<uint32_t>(ids >> 32)), unpacked(static_cast<uint32_t>(ids)),
          static_cast<int32_t>(p.dur_ns / 2), p.dur_ns % 2 != 0};
}

}  // namespace nl::assemble
