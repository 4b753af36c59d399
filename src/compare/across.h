#pragma once
// Comparison across hardware or backends. Times of single kernels mean little there. Instead it compares
// shares, and times relative to what the peaks of each device allow, at a level that both sides have: ops if
// both use the same framework, otherwise classes.

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
