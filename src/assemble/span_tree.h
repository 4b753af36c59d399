#pragma once
// The nesting of spans: parent, depth and innermost op, by a stack over the spans of each track in order of
// time.

#include <cstdint>
#include <vector>

namespace nl::assemble {

/// Who encloses whom when two spans have the same start and duration.
enum class SpanRank : int32_t { kOuter = 0, kOp = 1, kRuntime = 2 };

struct SpanRecord {
  int64_t start_ns;
  int64_t dur_ns;
  int64_t span_id;
  int32_t track_id;
  SpanRank rank;
};

/// Order in which the stack wants them: by track, outer before inner.
inline bool comes_before(const SpanRecord& a, const SpanRecord& b) {
  if (a.track_id != b.track_id) return a.track_id < b.track_id;
  if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
  if (a.dur_ns != b.dur_ns) return a.dur_ns > b.dur_ns;
  if (a.rank != b.rank) return a.rank < b.rank;
  return a.span_id < b.span_id;
}

struct SpanPlace {
  int64_t parent_id;  ///< kNull at the top
  int64_t op_id;      ///< kNull outside ops
  int32_t depth;
  bool crosses_parent;
};

class SpanStack {
 public:
  /// Spans must come in the order of comes_before.
  SpanPlace add(const SpanRecord& span);

 private:
  struct Open {
    int64_t span_id;
    int64_t end_ns;
    int64_t op_id;
  };
  std::vector<Open> open_;
  int32_t track_id_ = -1;
};

}  // namespace nl::assemble
