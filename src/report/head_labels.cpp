#include "report/head_labels.h"

namespace nl::report {

std::vector<HeadLabel> head_labels(const Report& report) {
  std::vector<HeadLabel> labels;
  const nlohmann::json backend = report.run.software.value("backend", nlohmann::json());
  for (const auto& [key, label] : report.labels) {
    if (key == "engine" && backend == label.value) continue;
    labels.push_back({key, label.value, label.origin});
  }
  return labels;
}

}  // namespace nl::report
