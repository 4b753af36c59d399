#include "report/head_labels.h"

namespace nl::report {

using nlohmann::json;

std::vector<HeadLabel> head_labels(const json& report) {
  std::vector<HeadLabel> labels;
  const json backend = report["run"]["software"].value("backend", json());
  for (const auto& [key, label] : report["labels"].items()) {
    if (key == "engine" && label["value"] == backend) continue;
    labels.push_back({key, label["value"], label["origin"]});
  }
  return labels;
}

}  // namespace nl::report
