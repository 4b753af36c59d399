#pragma once
// Windows: the stretches of time that figures are computed for. A window is the steady part of the capture
// (the default), the whole capture, a step, a stretch by its times, all annotated ranges of one name, or a
// phase of an LLM.

#include <string>
#include <vector>

#include "analyze/load/steady.h"

namespace nl::analyze {

struct PhaseRange {
  Phase phase;
  Interval time;
  uint32_t span;
};

struct Windows {
  Interval whole;
  Steps steps;
  Steady steady;
  std::vector<PhaseRange> phases;  ///< in order of time
};

Windows find_windows(const Timeline& run, const std::vector<Device>& devices, const PhaseNames& names);

/// A window by name: steady, whole, step:N (from 0), ns:BEGIN..END (as in the tables), a phase, or the name
/// of annotations (all of that name together). not_found with what there is.
Result<IntervalSet> window_named(const std::string& name, const Timeline& run, const Windows& windows);

}  // namespace nl::analyze
