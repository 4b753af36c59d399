#pragma once
// Makes the answer to "where did the time go" (answer/analysis.h) for one run and one window. The same run
// and the same options give the same answer, byte for byte in JSON.

#include <string>
#include <vector>

#include "analyze/answer/analysis.h"
#include "analyze/device_metrics.h"
#include "analyze/graphs/graph_ops.h"
#include "analyze/load/memory.h"
#include "analyze/load/thread_pool.h"
#include "analyze/names/taxonomy.h"
#include "analyze/roofline/model_roof.h"
#include "analyze/roofline/op_roofline.h"
#include "base/json.h"

namespace nl::analyze {

struct AnalysisOptions {
  std::string window = "steady";
  PhaseNames phases = {};
  int64_t top = 10;             ///< rows of each table; what they leave out is a row of its own
  std::string peaks_file = {};  ///< a user's device peaks
  std::vector<std::string> rule_folders = {};  ///< a user's rules
  ModelFacts model = {};                       ///< of a language model
  DonorChoice graph_donors = {};               ///< who may tell the ops of graph replays
  bool with_figures = false;                   ///< also what pictures need: strips of time, memory over time
  bool with_patterns = false;                  ///< also the patterns of work and the lengths of all steps
};

/// One device: its state, metrics and memory.
struct MeasuredDevice {
  const DeviceState* state;
  std::string name;  ///< of the hardware; empty if the source does not say
  MetricSet metrics;
  const MemoryTimeline* memory = nullptr;
  RooflineTable roofline = {};
};

struct Measured {
  IntervalSet window;
  std::vector<MeasuredDevice> devices;
  int64_t world = 1;  ///< ranks of the job, or devices if the sources name no ranks
};

/// What besides the time line a measure needs.
struct Sources {
  nlohmann::json document;  ///< run.json
  std::map<int32_t, MemoryTimeline> memory = {};
  OpArguments arguments = {};
  std::vector<PoolSample> pool = {};
  PeakTable peaks;
};

Measured measure(const PreparedRun& run, const Sources& sources, IntervalSet window);
/// The window by its name.
Result<Measured> measure(const PreparedRun& run, const Sources& sources, const std::string& window);

/// Window, limiters, devices, steps, coverage, the tables of kernels, ops and modules, phases. See
/// docs/metrics.md. With `graphs`, kernels of graph replays belong to the ops that these tell.
Analysis analysis_of(const PreparedRun& run, const Measured& measured, const Taxonomy& taxonomy,
                     const AnalysisOptions& options, const GraphOps* graphs = nullptr);

}  // namespace nl::analyze
