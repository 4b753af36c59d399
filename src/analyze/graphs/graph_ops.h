#pragma once
// GraphOps: the ops of a run's graph replays, lent by a donor. Each different replay is matched once. Its
// memory: the longest replay and the donor's launches while they are aligned, and one number per kernel of
// the run.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyze/graphs/graph_donor.h"
#include "analyze/time/attribution.h"
#include "analyze/time/prepared_run.h"

namespace nl::analyze {

struct GraphOps {
  std::shared_ptr<const GraphDonor> donor;
  std::vector<DonorOp> ops;               ///< the donor's, then the same without shapes
  std::vector<std::string> module_of_op;  ///< empty outside of modules
  PagedVector<uint32_t> op_of_kernel;     ///< by row of kernels; kNoRow where nothing is known
  std::vector<bool> begins_call;          ///< by row of kernels: the first kernel of a call of its op
  GraphOpsAnswer answer;

  LentOps lent() const { return {op_of_kernel, module_of_op}; }
  std::string_view text(uint32_t id) const { return donor->texts[id]; }
};

/// Whether the run launches graphs at all.
bool has_graph_replays(const PreparedRun& run);

/// `geometries`: of the run's kernels, see kernel_geometries.
Result<GraphOps> lend_ops(const PreparedRun& run, const PagedVector<uint64_t>& geometries,
                          std::shared_ptr<const GraphDonor> donor, const Taxonomy& taxonomy);

/// Where donors come from: a run that somebody named, or candidates, of which the first is taken whose ops
/// fit without doubt.
struct DonorChoice {
  using Donor = std::shared_ptr<const GraphDonor>;
  bool is_named = false;
  /// Null behind the last one. Without this function nobody is asked.
  std::function<Result<Donor>(size_t number)> candidate = {};
};

/// None if nobody was named and no candidate fits. `open` is the run itself: if it records graphs, it is the
/// candidate before all others.
Result<std::optional<GraphOps>> graph_ops_of(store::OpenRun& open, const PreparedRun& run,
                                             const DonorChoice& choice, const Taxonomy& taxonomy);

/// Device time of an op of GraphOps.
struct LentRow {
  uint32_t op = 0;
  int64_t device_ns = 0;  ///< sum, clipped to the window
  int64_t kernels = 0;
  int64_t calls = 0;  ///< of the op, that begin in the window
};
/// In the order of ops.
std::vector<LentRow> lent_rows(const GraphOps& graphs, const Device& device, const IntervalSet& window);

}  // namespace nl::analyze
