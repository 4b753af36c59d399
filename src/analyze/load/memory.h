#pragma once
// The memory of a device over time, computed from the events of the allocator.

#include <cstdint>
#include <map>
#include <vector>

#include "analyze/load/intervals.h"
#include "base/known.h"
#include "base/result.h"
#include "store/open_run.h"

namespace nl::analyze {

struct MemorySample {
  int64_t time;
  int64_t allocated;  ///< after the event; where the source gives changes only, relative to the first event
  int64_t reserved;   ///< model::kNull where the source does not say
};

struct MemoryTimeline {
  PagedVector<MemorySample> samples;  ///< in order of time
  bool relative = false;              ///< totals are not in the source
};

/// By device number; host allocations are left out.
Result<std::map<int32_t, MemoryTimeline>> memory_timelines(store::OpenRun& open);

struct MemoryPeaks {
  Known<int64_t> allocated = Absent{"no allocator events of the device"};
  Known<int64_t> reserved = Absent{"no allocator events of the device"};
  int64_t events = 0;
};
MemoryPeaks memory_peaks(const MemoryTimeline* memory, const IntervalSet& window);

/// At most `most` samples: of each stretch of time the one with the most allocated.
std::vector<MemorySample> thinned(const PagedVector<MemorySample>& samples, const IntervalSet& window,
                                  size_t most);

}  // namespace nl::analyze
