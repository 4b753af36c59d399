#pragma once
// One budget for all findings of a device: no nanosecond of the window is promised twice. Time is kept in
// pools (each idle cause, each class of kernels, exposed communication and copies). A finding draws what it
// promises from the pools that it is about; what an earlier one has drawn from them is not there any more.

#include <vector>

#include "analyze/rules/finding.h"

namespace nl::analyze {

/// Sets promised_ns and shared_with of the findings, in their order. The sum of promised_ns is at most the
/// window.
void share_budget(std::vector<Finding>& findings, const std::vector<Rule>& rules, const MetricSet& metrics);

}  // namespace nl::analyze
