#pragma once
// A test case for rules: the metrics of one window, written by hand.
//
//   metrics: {total_time: 1000000, idle_time: 300000}
//   absent: {queue_median: no launch calls in the capture}
//
// Metrics that are not named are absent.

#include <string>

#include "analyze/metrics/metric.h"
#include "base/result.h"

namespace nl::analyze {

/// `name` stands in messages, with the line.
Result<MetricSet> parse_metric_case(const std::string& text, const std::string& name);

}  // namespace nl::analyze
