#pragma once
// The nesting of spans: parent, depth and innermost op of each. Found with a stack that passes over the spans
// of each track in order of time.

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "base/paged_vector.h"
#include "model/batch.h"

namespace nl::assemble {

/// Who encloses whom when two spans have the same start and duration.
enum class SpanRank : uint8_t { kOuter = 0, kOp = 1, kRuntime = 2 };

struct SpanRecord {
  int64_t start_ns;
  int64_t dur_ns;
  int64_t span_id;
  int32_t track_id;
  SpanRank rank;
};

struct SpanPlace {
  int64_t parent_id;  ///< kNull at the top
  int64_t op_id;      ///< kNull outside ops
  int32_t depth;
  bool crosses_parent;
};

class SpanStack {
 public:
  /// Spans must come by (track, start, longest first, rank, id).
  SpanPlace add(const SpanRecord& span);

 private:
  struct Open {
    int64_t span_id;
    int64_t end_ns;
    int64_t op_id;
  };
  using Ends = std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>>;

  void clear();
  void close_until(int64_t time_ns);
  void begin_crossing();

  std::vector<Open> open_;  ///< the last one is open; among the others there may be ended ones, if crossed_
  Ends ends_;               ///< of the spans that are open, if crossed_
  int32_t track_id_ = -1;
  bool crossed_ = false;
};

/// Many spans in little memory: 16 bytes each, 24 during build(), in columns that may be larger than memory.
/// Spans are numbered as they are added.
class SpanForest {
 public:
  static constexpr size_t kMostSpans = UINT32_MAX - 1;  ///< UINT32_MAX is none

  void add(int64_t start_ns, int64_t dur_ns, int32_t track_id, SpanRank rank);
  size_t size() const { return spans_.size(); }
  /// Finds the place of every span. Afterwards only place() and track() may be called.
  void build();
  SpanPlace place(size_t span_id) const;
  int32_t track(size_t span_id) const { return static_cast<int32_t>(spans_[span_id].track / 4) - 1; }

 private:
  static constexpr uint32_t kLong = UINT32_MAX;  // durations from here on are in long_durations_

  /// Once built, start_ns holds parent and op, and dur_ns depth and flag.
  struct Packed {
    int64_t start_ns;
    uint32_t dur_ns;
    uint32_t track;  // (track_id + 1) * 4 + rank
  };
  struct LongDuration {
    int64_t dur_ns;
    uint32_t span;
  };
  using Order = PagedVector<uint32_t>;

  int64_t duration(uint32_t span) const;
  SpanRecord record(uint32_t span) const;
  bool comes_before(uint32_t a, uint32_t b) const;
  Order ordered() const;
  void merge_runs(Order& order) const;
  void merge(Order& order, size_t begin, size_t middle, size_t end, Order& aside) const;

  PagedVector<Packed> spans_;
  PagedVector<LongDuration> long_durations_;  ///< in the order of spans
};

}  // namespace nl::assemble
