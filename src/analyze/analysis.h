#pragma once
// Analysis: the answer to "where did the time go" for one run and one window, as JSON that faces and reports
// render. The same run and options give the same JSON, byte for byte.

#include <string>
#include <vector>

#include "analyze/device_metrics.h"
#include "analyze/load/memory.h"
#include "analyze/load/thread_pool.h"
#include "analyze/names/taxonomy.h"
#include "analyze/roofline/op_roofline.h"
#include "base/json.h"

namespace nl::analyze {

struct AnalysisOptions {
  std::string window = "whole";
  PhaseNames phases = {};
  int64_t top = 10;             ///< rows of each table; what they leave out is a row of its own
  std::string peaks_file = {};  ///< a user's device peaks
  std::vector<std::string> rule_folders = {};  ///< a user's rules
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

/// window, limiters, devices, steps, coverage, top_kernels, top_ops, top_modules, phases. See
/// docs/metrics.md.
nlohmann::json analysis_json(const PreparedRun& run, const Measured& measured, const Taxonomy& taxonomy,
                             const AnalysisOptions& options);

/// {value, unit} or {absent, unit} of every metric, by id.
nlohmann::json metrics_json(const MetricSet& metrics);

}  // namespace nl::analyze
