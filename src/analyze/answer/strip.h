#pragma once
// A window as a row of columns, each of the same length of time. Pictures of a window over time are drawn
// from it.

#include <cstdint>

#include "base/described.h"

namespace nl::analyze {

/// The parts of one stretch of time.
struct StripColumn {
  int64_t compute_ns = 0, exposed_comm_ns = 0, exposed_copy_ns = 0, idle_ns = 0;

  static constexpr bool kIsRow = true;
  static constexpr auto fields() {
    using S = StripColumn;
    return std::tuple{field("compute_ns", &S::compute_ns), field("exposed_comm_ns", &S::exposed_comm_ns),
                      field("exposed_copy_ns", &S::exposed_copy_ns), field("idle_ns", &S::idle_ns)};
  }
};

}  // namespace nl::analyze
