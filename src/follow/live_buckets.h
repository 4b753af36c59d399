#pragma once
// LiveBuckets: what a row looks like from afar. Each bucket of 2^exponent ns says how many spans start in it,
// how much of it they cover, and which one is the longest. The newest buckets stay. One thread.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "follow/live_span.h"

namespace nl::follow {

struct LiveBucket {
  LiveSpan longest = {};
  uint32_t count = 0;
  bool is_used = false;
  int64_t busy_ns = 0;  ///< spans that overlap each other may add up to more than its length

  /// The part of the span that lies in [begin_ns, begin_ns + length_ns).
  void add(const LiveSpan& span, int64_t begin_ns, int64_t length_ns) {
    show(span);
    const int64_t end_ns = begin_ns + length_ns;
    if (span.start_ns >= begin_ns && span.start_ns < end_ns) count++;
    busy_ns += std::max<int64_t>(0, std::min(span.end_ns(), end_ns) - std::max(span.start_ns, begin_ns));
  }
  void add(const LiveBucket& other) {
    if (!other.is_used) return;
    show(other.longest);
    count += other.count;
    busy_ns += other.busy_ns;
  }

 private:
  /// Of equally long ones the earliest.
  void show(const LiveSpan& span) {
    const bool is_longer =
        span.dur_ns > longest.dur_ns || (span.dur_ns == longest.dur_ns && span.start_ns < longest.start_ns);
    if (!is_used || is_longer) longest = span;
    is_used = true;
  }
};

class LiveBuckets {
 public:
  LiveBuckets() = default;
  /// `buckets` is a power of two.
  LiveBuckets(uint32_t exponent, size_t buckets) : exponent_(exponent), buckets_(buckets) {}

  void add(const LiveSpan& span) {
    const int64_t last = (span.reach_ns() - 1) >> exponent_;
    advance(last);
    const auto size = static_cast<int64_t>(buckets_.size());
    for (int64_t bucket = std::max(span.start_ns >> exponent_, newest_ - size + 1); bucket <= last; bucket++)
      at(bucket).add(span, bucket << exponent_, int64_t{1} << exponent_);
  }

  /// Calls visit with the number of each bucket in which something lies, the oldest first.
  template <class Visit>
  void for_each(const Visit& visit) const {
    if (!has_any_) return;
    const auto size = static_cast<int64_t>(buckets_.size());
    for (int64_t bucket = newest_ - size + 1; bucket <= newest_; bucket++) {
      const LiveBucket& one = buckets_[static_cast<size_t>(bucket & (size - 1))];
      if (one.is_used) visit(bucket, one);
    }
  }

 private:
  LiveBucket& at(int64_t bucket) {
    return buckets_[static_cast<size_t>(bucket & (static_cast<int64_t>(buckets_.size()) - 1))];
  }
  void advance(int64_t bucket) {
    const auto size = static_cast<int64_t>(buckets_.size());
    if (!has_any_) newest_ = bucket;
    has_any_ = true;
    for (int64_t next = std::max(newest_ + 1, bucket - size + 1); next <= bucket; next++) at(next) = {};
    newest_ = std::max(newest_, bucket);
  }

  uint32_t exponent_ = 0;
  std::vector<LiveBucket> buckets_;
  int64_t newest_ = 0;
  bool has_any_ = false;
};

}  // namespace nl::follow
