#pragma once
// SpanSweep: turns the spans of one timeline into opens and closes that nest, as flame graphs need them. At
// any moment the open frames are the spans that are open then, in the order in which they began. Spans of
// sound traces nest by themselves. Where one crosses another (it began inside and ends later), it is closed
// where the other one ends and opened again at once: it is cut in two, and no time is lost or counted twice.
// Memory is the depth. For one thread.

#include <algorithm>
#include <cstdint>
#include <vector>

namespace nl::exports {

struct SweptSpan {
  int64_t start_ns;
  int64_t end_ns;
  uint32_t name;
  uint32_t tag = 0;  ///< whatever the listener wants to know of it
};

/// `Listener` has open(const SweptSpan&, int64_t at, bool again) and close(const SweptSpan&, int64_t at).
template <class Listener>
class SpanSweep {
 public:
  /// Deeper spans are one frame together. Crossing spans are so much earlier: each may be opened again as
  /// often as one below it ends.
  static constexpr size_t kMaxDepth = 1000;
  static constexpr size_t kMaxCrossingDepth = 64;

  SpanSweep(Listener& listener, uint32_t others) : listener_(listener), others_(others) {}

  /// Spans must come by start, longest first.
  void add(const SweptSpan& span) {
    close_until(span.start_ns);
    const bool crosses = !open_.empty() && open_.back().end_ns < span.end_ns;
    if (open_.size() >= (crosses ? kMaxCrossingDepth : kMaxDepth)) {
      merge(span);
      return;
    }
    if (crosses) crossing_ = true;
    if (crosses) crossed_++;
    push(span, span.start_ns, false);
  }

  /// The end of the timeline.
  void finish() {
    close_until(INT64_MAX);
    crossing_ = false;
  }

  int64_t crossed() const { return crossed_; }
  int64_t too_deep() const { return too_deep_; }

 private:
  void push(const SweptSpan& span, int64_t at, bool again) {
    open_.push_back(span);
    listener_.open(span, at, again);
  }

  /// One frame more stands for all that is deeper; it lasts as long as any of them.
  void merge(const SweptSpan& span) {
    too_deep_++;
    if (open_.back().name != others_) {
      push({span.start_ns, span.end_ns, others_, 0}, span.start_ns, false);
    } else {
      open_.back().end_ns = std::max(open_.back().end_ns, span.end_ns);
    }
    crossing_ = true;
  }

  void close_until(int64_t time_ns) {
    while (!open_.empty()) {
      const size_t next = next_to_end();
      const int64_t end_ns = open_[next].end_ns;
      if (end_ns > time_ns) return;
      close(next, end_ns);
    }
    crossing_ = false;
  }

  /// The span that ends first; of several the innermost.
  size_t next_to_end() const {
    size_t next = open_.size() - 1;
    if (!crossing_) return next;
    for (size_t i = next; i-- > 0;) {
      if (open_[i].end_ns < open_[next].end_ns) next = i;
    }
    return next;
  }

  void close(size_t which, int64_t at) {
    for (size_t i = open_.size(); i-- > which;) listener_.close(open_[i], at);
    open_.erase(open_.begin() + static_cast<ptrdiff_t>(which));
    for (size_t i = which; i < open_.size(); i++) listener_.open(open_[i], at, true);
  }

  Listener& listener_;
  const uint32_t others_;
  std::vector<SweptSpan> open_;
  bool crossing_ = false;  ///< an inner span may end after an outer one
  int64_t crossed_ = 0;
  int64_t too_deep_ = 0;
};

}  // namespace nl::exports
