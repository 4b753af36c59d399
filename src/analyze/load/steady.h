#pragma once
// The steady part of a run: the stretch of time that an expert would look at. The start of the capture (work
// that was queued before it), set-up, warm-up and the tail lie outside. Each part outside has a name and a
// reason, and together with the steady part they add up to the capture.

#include <string>
#include <vector>

#include "analyze/load/steps.h"

namespace nl::analyze {

/// A part of the capture that figures of the steady part leave out.
struct OutsidePart {
  std::string what;  ///< capture_start, setup, first_step, warm_up or tail
  Interval time;
  std::string why;  ///< for people
};

struct Steady {
  Interval time;
  std::string why;                   ///< how it was chosen, for people
  size_t first_step = 0, steps = 0;  ///< which steps it has; none if it was not chosen by steps
  std::vector<OutsidePart> outside;  ///< in order of time
};

Steady find_steady(const Timeline& run, const std::vector<Device>& devices, const Steps& steps);

}  // namespace nl::analyze
