#pragma once
// The difference of two sides in numbers that add up: by part, by piece of work, by op and by module. All
// numbers are for one unit of the window, in whole nanoseconds.

#include "compare/changes.h"
#include "compare/kernel_counters.h"
#include "compare/repeats.h"

namespace nl::compare {

struct Difference {
  const Side& base;
  const Side& next;
  const Texts& texts;
  const Changes& changes;
  const Repeats& repeats;
  const KernelCounters& counters;
  bool with_figures = false;         ///< also the values of all runs
  int64_t most_changes = INT64_MAX;  ///< rows of changes; the others are counted in not_shown
};

/// Fills delta_ns, ratio, unit, parts, changes, matched, ops, modules; rows with the largest difference
/// first.
void put_difference(const Difference& difference, Comparison& out);

}  // namespace nl::compare
