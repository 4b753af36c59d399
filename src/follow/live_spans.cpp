#include "follow/live_spans.h"

namespace nl::follow {

void LiveSpans::add(const LiveSpan& span) {
  if (blocks_.empty() || blocks_.back().spans.size() == kBlockSpans) {
    blocks_.emplace_back();
    blocks_.back().spans.reserve(kBlockSpans);
  }
  Block& block = blocks_.back();
  block.spans.push_back(span);
  block.begin_ns = std::min(block.begin_ns, span.start_ns);
  block.end_ns = std::max(block.end_ns, span.reach_ns());
  size_++;
}

uint64_t LiveSpans::leave(int64_t horizon_ns) {
  uint64_t left = 0;
  while (!blocks_.empty()) {
    Block& block = blocks_.front();
    for (; block.first < block.spans.size(); block.first++) {
      const LiveSpan& span = block.spans[block.first];
      const bool is_surplus = size_ > most_;
      if (!is_surplus && span.reach_ns() > horizon_ns) return left;
      if (is_surplus) complete_from_ns_ = std::max(complete_from_ns_, span.reach_ns());
      size_--;
      left++;
    }
    blocks_.pop_front();
  }
  return left;
}

}  // namespace nl::follow
