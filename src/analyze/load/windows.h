#pragma once
// Windows: the stretches of time that figures are computed for. A window is the whole capture, a step (marked
// by the source, or a period found in the kernels), all annotated ranges of one name, or a phase of an LLM.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyze/load/devices.h"

namespace nl::analyze {

enum class Phase : uint8_t { kPrefill, kDecodeAll, kDecodeStep, kMixed };
std::string_view phase_name(Phase phase);

/// Names of ranges that mark phases, besides those that vLLM and SGLang write. Exact names.
struct PhaseNames {
  std::string prefill = "LLM@prefill";
  std::string decode_all = "LLM@decode_all";
  std::string decode_step = "LLM@decode_step";
};

struct PhaseRange {
  Phase phase;
  Interval time;
  uint32_t span;
};

struct Step {
  Interval time;
  std::string label;  ///< as the source names it; empty for a found period
};

struct Steps {
  std::vector<Step> list;  ///< in order of time
  std::string source;      ///< profiler_step, engine_step, model_run, inference, annotation, period or none
  double confidence = 1;   ///< of a found period: share of kernels that repeat after one period
  int64_t period = 0;      ///< of a found period: kernels in it
};

struct Windows {
  Interval whole;
  Steps steps;
  std::vector<PhaseRange> phases;  ///< in order of time
};

Windows find_windows(const Timeline& run, const std::vector<Device>& devices, const PhaseNames& names);

/// The phase that a range of this name marks.
std::optional<Phase> phase_of(std::string_view name, const PhaseNames& names);

/// A window by name: whole, step:N (from 0), a phase, or the name of annotations (all of that name together).
/// not_found with what there is.
Result<IntervalSet> window_named(const std::string& name, const Timeline& run, const Windows& windows);

/// The shortest period of a sequence of at least 30 after which at least 9 of 10 elements repeat; none if
/// there is no such.
struct Period {
  size_t length;
  double confidence;
};
std::optional<Period> find_period(const std::vector<uint32_t>& sequence);

}  // namespace nl::analyze
