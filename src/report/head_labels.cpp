#include "report/head_labels.h"

#include "base/number_text.h"

namespace nl::report {

std::string head_words(const std::string& model, const std::vector<std::string>& files) {
  std::string out = model;
  if (files.empty()) return out;
  out += (out.empty() ? "" : ", ") + files.front();
  if (files.size() > 1) out += " and " + counted(static_cast<int64_t>(files.size()) - 1, "more file");
  return out;
}

std::string head_words(const Report& report) {
  const auto model = report.labels.find("model");
  return head_words(model == report.labels.end() ? "" : model->second.value, report.files);
}

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
