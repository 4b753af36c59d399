#pragma once
// SpanMemo: what the spans around a span say together, from the outside in. Each span is looked at once.

#include <unordered_map>
#include <vector>

#include "analyze/load/timeline.h"

namespace nl::analyze {

template <class Value>
class SpanMemo {
 public:
  /// `none`: what is said where there is no span; extended(value, span): what is said inside of the span.
  template <class Extended>
  Value around(const Spans& spans, uint32_t span, Value none, Extended extended) {
    std::vector<uint32_t> chain;
    while (span != kNoRow && !known_.contains(span)) {
      chain.push_back(span);
      span = spans.parent[span];
    }
    Value value = span == kNoRow ? none : known_[span];
    for (auto it = chain.rbegin(); it != chain.rend(); ++it) known_[*it] = value = extended(value, *it);
    return value;
  }

 private:
  std::unordered_map<uint32_t, Value> known_;
};

}  // namespace nl::analyze
