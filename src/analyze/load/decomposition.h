#pragma once
// Decomposition: divides a window of a device into compute, exposed communication, exposed copies and idle
// time. The four add up to the window exactly.

#include <cstdint>

#include "base/described.h"

namespace nl::analyze {

/// Exact: compute + exposed_comm + exposed_copy + idle = window.
struct Decomposition {
  int64_t window_ns = 0, compute_ns = 0, exposed_comm_ns = 0, exposed_copy_ns = 0, idle_ns = 0, busy_ns = 0;
  int64_t comm_ns = 0, copy_ns = 0, overlap_ns = 0, kernels_ns = 0;

  static constexpr auto fields() {
    using D = Decomposition;
    return std::tuple{
        field("window_ns", &D::window_ns,
              "length of the window: the sum of compute, exposed_comm, exposed_copy and idle"),
        field("compute_ns", &D::compute_ns, "time in which kernels computed"),
        field("exposed_comm_ns", &D::exposed_comm_ns, "communication while nothing computed"),
        field("exposed_copy_ns", &D::exposed_copy_ns, "copies while nothing computed or communicated"),
        field("idle_ns", &D::idle_ns, "time in which nothing ran"),
        field("busy_ns", &D::busy_ns, "time in which anything ran"),
        field("comm_ns", &D::comm_ns, "all communication"),
        field("copy_ns", &D::copy_ns, "all copies"),
        field("overlap_ns", &D::overlap_ns, "communication beside compute")};
  }
};

}  // namespace nl::analyze
