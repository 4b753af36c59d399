#pragma once
// SpanMemo: what the spans around a span say together, from the outside in. Each span is looked at once.

#include <vector>

#include "analyze/load/timeline.h"
#include "base/paged_vector.h"

namespace nl::analyze {

template <class Value>
class SpanMemo {
 public:
  explicit SpanMemo(const Spans& spans) : spans_(spans), is_known_(spans.size()), known_(spans.size()) {}

  /// `none`: what is said where there is no span; extended(value, span): what is said inside of the span.
  template <class Extended>
  Value around(uint32_t span, Value none, Extended extended) {
    chain_.clear();
    while (span != kNoRow && !is_known_[span]) {
      chain_.push_back(span);
      span = spans_.parent[span];
    }
    Value value = span == kNoRow ? none : known_[span];
    for (auto it = chain_.rbegin(); it != chain_.rend(); ++it) {
      known_[*it] = value = extended(value, *it);
      is_known_[*it] = true;
    }
    return value;
  }

 private:
  const Spans& spans_;
  std::vector<bool> is_known_;
  PagedArray<Value> known_;  ///< pages that nobody asks for are never touched
  std::vector<uint32_t> chain_;
};

}  // namespace nl::analyze
