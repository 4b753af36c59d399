#pragma once
// Steps: the repeating units of a run, such as the iterations of a training loop or the batches of a serving
// engine. A source marks them on the host, or they are found in the device work. On a device, a step runs
// from the start of its first work on the main stream to that of the next step, and the last one to the end
// of its own work. So steps tile their stretch of time, and the sums of all steps add up to it, even if the
// device runs far behind the host.

#include <optional>
#include <string>
#include <vector>

#include "analyze/load/devices.h"
#include "analyze/load/phases.h"

namespace nl::analyze {

struct Step {
  Interval time;                    ///< on the main device; of a run without device work, on the host
  std::string label = {};           ///< as the source names it; empty for a found period
  Interval host = {};               ///< the range of the source; empty for steps found in the device work
  std::optional<Phase> phase = {};  ///< of an LLM, told by the label
  std::optional<EngineStep> engine = {};  ///< of a serving engine, told by the label
};

struct Steps {
  std::vector<Step> list;    ///< in order of time, without overlap
  std::string source;        ///< profiler_step, engine_step, model_run, inference, annotation, graph_launch,
                             ///< period or none
  double confidence = 1;     ///< of a found period: share of kernels that repeat after one period
  int64_t period = 0;        ///< of a found period: kernels in it
  int64_t without_work = 0;  ///< marked steps that launched nothing, such as a profiler's own; not listed

  /// The step whose range of the host contains this time; none if there is none.
  std::optional<size_t> launched_at(int64_t time) const;
};

/// Less kernel time than the other, without communication.
bool has_less_compute(const Device& a, const Device& b);
/// The device with the most kernel time; none if there are no devices.
const Device* main_device(const std::vector<Device>& devices);

/// The stream of a device with the most kernel time.
int32_t main_stream(const Device& device);

Steps find_steps(const Timeline& run, const std::vector<Device>& devices, const PhaseNames& names);

}  // namespace nl::analyze
