#pragma once
// Comparison across hardware or backends. Times of one kernel mean little there: what is compared are shares,
// and times against what the peaks of each device allow, at the level that both sides have: ops of one
// framework, or classes.

#include "compare/comparability.h"

namespace nl::compare {

struct AcrossSide {
  const analyze::LoadedRun& run;
  const Side& side;
  size_t device;  ///< index in run.devices
  const analyze::IntervalSet& window;
};

Across compare_across(const AcrossSide& base, const AcrossSide& next, Mode mode, const Texts& texts);

}  // namespace nl::compare
