#pragma once
// What a live picture keeps of a recording: one span, kernel, copy or synchronisation.

#include <algorithm>
#include <cstdint>

#include "timeline/span.h"

namespace nl::follow {

struct LiveSpan {
  int64_t start_ns = 0;
  int64_t dur_ns = 0;  ///< 0 for an instant
  uint32_t row = 0;
  uint32_t name = 0;
  uint32_t item = 0;  ///< a packed timeline::ItemId; its number counts up, and tells two spans apart

  int64_t end_ns() const { return start_ns + dur_ns; }
  int64_t reach_ns() const { return start_ns + std::max<int64_t>(dur_ns, 1); }
};

}  // namespace nl::follow
