#pragma once
// The labels at the head of a report: what the run is about, and who says so.

#include <string>
#include <vector>

#include "report/report_json.h"

namespace nl::report {

struct HeadLabel {
  std::string key, value, origin;
};

/// The model and the files of a run in a few words: "resnet50, a.json.gz and 3 more files"; empty if nothing
/// is known.
std::string head_words(const std::string& model, const std::vector<std::string>& files);

/// The same of a report.
std::string head_words(const Report& report);

/// By key. An engine that is the backend is left out: every run would have it.
std::vector<HeadLabel> head_labels(const Report& report);

}  // namespace nl::report
