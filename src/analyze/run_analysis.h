#pragma once
// The whole analysis of one run, made from the tables of its bundle.

#include "analyze/analysis.h"
#include "analyze/rules/finding.h"

namespace nl::store {
class OpenRun;
}

namespace nl::analyze {

/// What the rules say of one device.
struct DeviceFindings {
  std::string device;  ///< device_text
  MetricSet metrics;
  Evaluation evaluation;
};

struct RunAnalysis {
  Analysis data;  ///< with layers, counters and findings
  std::vector<DeviceFindings> devices;
  nlohmann::json patterns;                 ///< if asked for: work_pattern of each device
  std::vector<int64_t> step_durations_ns;  ///< if asked for: of all steps, in order of time
};

/// The run has its derived tables.
Result<RunAnalysis> analyze_run(const std::shared_ptr<store::OpenRun>& open, const AnalysisOptions& options);

/// A device in one word: its number, behind its rank if there is one (1:0), or cpu.
std::string device_text(const Device& device);

}  // namespace nl::analyze
