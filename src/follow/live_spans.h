#pragma once
// LiveSpans: the newest spans in the order in which they came, at most so many. Blocks know the stretch that
// their spans lie in, so a look at a short stretch skips most of them. One thread.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "follow/live_span.h"

namespace nl::follow {

class LiveSpans {
 public:
  explicit LiveSpans(size_t most) : most_(most) {}

  size_t size() const { return size_; }
  void add(const LiveSpan& span);
  /// Takes out the oldest ones while there are too many or they ended before this time. How many left.
  uint64_t leave(int64_t horizon_ns);
  /// Spans that end before this time may be missing, because there were too many.
  int64_t complete_from_ns() const { return complete_from_ns_; }

  /// Calls visit for each span that overlaps the stretch.
  template <class Visit>
  void for_each(int64_t begin_ns, int64_t end_ns, const Visit& visit) const {
    for (const Block& block : blocks_) {
      if (block.begin_ns >= end_ns || block.end_ns <= begin_ns) continue;
      for (size_t i = block.first; i < block.spans.size(); i++) {
        const LiveSpan& span = block.spans[i];
        if (span.start_ns < end_ns && span.reach_ns() > begin_ns) visit(span);
      }
    }
  }

 private:
  static constexpr size_t kBlockSpans = 4096;
  struct Block {
    std::vector<LiveSpan> spans = {};
    size_t first = 0;  ///< those before have left
    int64_t begin_ns = INT64_MAX;
    int64_t end_ns = INT64_MIN;
  };

  size_t most_;
  size_t size_ = 0;
  std::deque<Block> blocks_;
  int64_t complete_from_ns_ = INT64_MIN;
};

}  // namespace nl::follow
