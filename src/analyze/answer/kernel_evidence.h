#pragma once
// The measured figures behind the statements on one kernel: how its grid fills the device, where its warps
// wait and what its memory accesses are made of.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/described.h"

namespace nl::analyze {

struct KernelEvidence {
  std::optional<std::string> compute_capability = {};
  std::optional<int64_t> multiprocessors = {};
  std::optional<int64_t> blocks = {}, block_threads = {};
  std::optional<double> waves = {};
  int64_t small_grid_ns = 0;
  int64_t empty_sm_ns = 0;
  std::optional<double> sm_active_pct = {}, l1_pct = {}, l2_pct = {};
  std::optional<double> excess_sectors_share = {}, local_sectors_share = {};
  std::map<std::string, double> stall_shares = {};
  std::map<std::string, double> pipe_pct = {};
  std::vector<std::string> occupancy_limits = {};

  static constexpr auto fields() {
    using E = KernelEvidence;
    return std::tuple{
        field("compute_capability", &E::compute_capability, "compute capability of the device, e.g. 9.0"),
        field("multiprocessors", &E::multiprocessors, "of the device"),
        field("blocks", &E::blocks, "of the longest launch"),
        field("block_threads", &E::block_threads, "threads of a block of the longest launch"),
        field("waves", &E::waves,
              "blocks of the longest launch divided by those that the device holds at once"),
        field("small_grid_ns", &E::small_grid_ns, "time of launches with fewer blocks than multiprocessors"),
        field("empty_sm_ns", &E::empty_sm_ns,
              "this time multiplied by the share of multiprocessors that get no block"),
        field("sm_active_pct", &E::sm_active_pct, "time in which a multiprocessor has a warp"),
        field("l1_pct", &E::l1_pct, "throughput of the first cache, as a share of its peak"),
        field("l2_pct", &E::l2_pct, "throughput of the second cache, as a share of its peak"),
        field("excess_sectors_share", &E::excess_sectors_share,
              "sectors of global memory that coalesced accesses would not need"),
        field("local_sectors_share", &E::local_sectors_share,
              "sectors of local memory, as a share of those of local and global memory"),
        field("stall_shares", &E::stall_shares, "what the cycles of warps are spent on, by reason"),
        field("pipe_pct", &E::pipe_pct, "time in which a pipe is busy, by pipe"),
        field("occupancy_limits", &E::occupancy_limits,
              "what limits the blocks of a multiprocessor in the longest launch")};
  }
};

}  // namespace nl::analyze
