#pragma once
// Steps of a serving engine by phase and batch. Times are those of the device, not of the host's ranges: an
// engine launches a step long before it runs.

#include "analyze/answer/serving.h"
#include "analyze/load/windows.h"

namespace nl::analyze {

/// Of the steps that lie in the window, the most time first.
std::vector<ServingRow> serving_rows(const Steps& steps, const IntervalSet& window);

}  // namespace nl::analyze
