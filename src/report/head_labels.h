#pragma once
// The labels at the head of a report: what the run is about, and who says so.

#include <string>
#include <vector>

#include "report/report_json.h"

namespace nl::report {

struct HeadLabel {
  std::string key, value, origin;
};

/// By key. An engine that is the backend is left out: every run would have it.
std::vector<HeadLabel> head_labels(const Report& report);

}  // namespace nl::report
