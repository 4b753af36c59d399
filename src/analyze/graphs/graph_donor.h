#pragma once
// GraphDonor: a run that tells the ops of another run's graph replays, reduced to its launches in order.
// Either it recorded a graph, or it ran the model without graphs. Read once, then read-only. Its memory
// follows from its launches with an op, not from its events.

#include <optional>
#include <string>
#include <vector>

#include "analyze/answer/graph_ops.h"
#include "analyze/load/timeline.h"
#include "analyze/names/taxonomy.h"
#include "store/engine.h"

namespace nl::store {
class OpenRun;
}

namespace nl::analyze {

/// What an op of the donor is; calls that are equal in all of it are one. Ids of GraphDonor::texts.
struct DonorOp {
  uint32_t name = kNoRow;
  uint32_t shapes = kNoRow;  ///< kNoRow if the source records none
  uint32_t module = kNoRow;  ///< path of modules around it; kNoRow outside of them
  OpClass op_class = OpClass::k_other;

  auto operator<=>(const DonorOp&) const = default;
};

struct DonorLaunch {
  uint32_t kernel = kNoRow;  ///< id of the kernel's name; kNoRow if the source does not tell it
  uint32_t op = 0;           ///< in GraphDonor::ops
  uint64_t geometry = 0;     ///< see geometry_of; 0 = not known
  bool begins_call = true;   ///< it is not of the same call of the op as the launch before
};

/// Launches in order: those of one recorded graph, or all of a run without graphs.
struct DonorGraph {
  std::vector<DonorLaunch> launches;
  std::optional<int64_t> batch = {};  ///< if the range around the recording tells it
};

struct GraphDonor {
  std::string run_id = {};
  std::string label = {};   ///< how people named it
  std::string chosen = {};  ///< why this one
  DonorKind kind = DonorKind::kNone;
  Names texts = {};
  std::vector<DonorOp> ops = {};
  std::vector<DonorGraph> graphs = {};
};

/// Recorded graphs if the run has any, else its kernels outside of graphs. The run has its derived tables.
Result<GraphDonor> read_graph_donor(store::OpenRun& open, const Taxonomy& taxonomy);

/// Grid and block in one number, never 0.
uint64_t geometry_of(const std::vector<int64_t>& grid_and_block);

/// Of each row of kernels; 0 where the source does not tell.
Result<PagedVector<uint64_t>> kernel_geometries(store::Connection& connection);

/// 32 of capture_32_DECODE, as engines name the range in which they record a graph of this batch.
std::optional<int64_t> captured_batch(std::string_view range);

}  // namespace nl::analyze
