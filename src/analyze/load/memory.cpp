#include "analyze/load/memory.h"

#include <algorithm>

#include "model/batch.h"

namespace nl::analyze {
namespace {

constexpr char kEvents[] = R"(
  SELECT device, start_ns, bytes, total_allocated_bytes, total_reserved_bytes
  FROM allocations WHERE device_type <> 0 AND device >= 0 ORDER BY start_ns, allocation_id)";

int64_t cell(const store::Chunk& chunk, size_t column, size_t row) {
  return chunk.is_null(column, row) ? model::kNull : chunk.int64s(column)[row];
}

/// Total after the event, or the sum of changes so far.
int64_t total_after(MemoryTimeline& memory, int64_t total, int64_t change) {
  if (total != model::kNull) return total;
  memory.relative = true;
  const int64_t before = memory.samples.empty() ? 0 : memory.samples.back().allocated;
  int64_t after = before;
  if (change == model::kNull || __builtin_add_overflow(before, change, &after)) return before;
  return after;
}

}  // namespace

Result<std::map<int32_t, MemoryTimeline>> memory_timelines(store::OpenRun& open) {
  std::map<int32_t, MemoryTimeline> devices;
  if (!open.has("allocations")) return devices;
  NL_TRY(store::Connection * connection, open.ask({"allocations"}));
  NL_CHECK(connection->stream(kEvents, [&](const store::Chunk& chunk) -> Result<void> {
    for (size_t i = 0; i < chunk.size(); i++) {
      MemoryTimeline& memory = devices[chunk.int32s(0)[i]];
      const int64_t allocated = total_after(memory, cell(chunk, 3, i), cell(chunk, 2, i));
      memory.samples.push_back({cell(chunk, 1, i), allocated, cell(chunk, 4, i)});
    }
    return {};
  }));
  return devices;
}

MemoryPeaks memory_peaks(const MemoryTimeline* memory, const IntervalSet& window) {
  MemoryPeaks peaks;
  if (memory == nullptr) return peaks;
  int64_t allocated = INT64_MIN, reserved = INT64_MIN;
  for (const MemorySample& sample : memory->samples) {
    if (!contains(window, sample.time)) continue;
    peaks.events++;
    allocated = std::max(allocated, sample.allocated);
    if (sample.reserved != model::kNull) reserved = std::max(reserved, sample.reserved);
  }
  if (peaks.events == 0) {
    peaks.allocated = peaks.reserved = Absent{"no allocator events in the window"};
    return peaks;
  }
  if (memory->relative) {
    peaks.allocated = Absent{"the source gives changes, not totals"};
  } else {
    peaks.allocated = allocated;
  }
  if (reserved == INT64_MIN) {
    peaks.reserved = Absent{"the source does not give what is reserved"};
  } else {
    peaks.reserved = reserved;
  }
  return peaks;
}

std::vector<MemorySample> thinned(const PagedVector<MemorySample>& samples, const IntervalSet& window,
                                  size_t most) {
  std::vector<MemorySample> kept;
  if (window.empty() || most == 0) return kept;
  const int64_t begin = window.front().begin;
  const int64_t width = std::max<int64_t>(1, (window.back().end - begin) / static_cast<int64_t>(most) + 1);
  int64_t bucket = -1;
  for (const MemorySample& sample : samples) {
    if (!contains(window, sample.time)) continue;
    const int64_t at = (sample.time - begin) / width;
    if (at != bucket) {
      kept.push_back(sample);
      bucket = at;
    } else if (sample.allocated > kept.back().allocated) {
      kept.back() = sample;
    }
  }
  return kept;
}

}  // namespace nl::analyze
