#include "store/labels.h"

#include <algorithm>

namespace nl::store {
namespace {

using nlohmann::json;

constexpr const char* kOriginNames[] = {"source", "sidecar", "import", "user"};

/// Less counts more.
int rank(const LabelValue& value) {
  if (value.origin == LabelOrigin::kUser && value.forced) return 0;
  if (value.origin == LabelOrigin::kSource) return 1;
  return value.origin == LabelOrigin::kSidecar ? 3 : 2;
}

bool counts_before(const LabelValue& a, const LabelValue& b) {
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  if (a.set_at_ns != b.set_at_ns) return a.set_at_ns > b.set_at_ns;
  return a.origin > b.origin;
}

json value_json(const LabelValue& value) {
  const bool dated = value.origin != LabelOrigin::kSource;
  return {{"origin", origin_name(value.origin)},
          {"value", value.value},
          {"forced", value.forced},
          {"set_at_ns", dated ? json(value.set_at_ns) : json()},
          {"user", dated ? json(value.user) : json()}};
}

}  // namespace

const char* origin_name(LabelOrigin origin) {
  return kOriginNames[static_cast<size_t>(origin)];
}

std::optional<LabelOrigin> origin_of_name(const std::string& name) {
  for (size_t i = 0; i < std::size(kOriginNames); i++) {
    if (name == kOriginNames[i]) return static_cast<LabelOrigin>(i);
  }
  return std::nullopt;
}

std::map<std::string, std::string> source_labels(const json& document) {
  std::map<std::string, std::string> labels;
  const auto& software = document["software"];
  if (software.contains("precision")) labels["precision"] = software["precision"];
  if (software["backend"] != "unknown") labels["engine"] = software["backend"];
  if (!document.contains("labels")) return labels;
  for (const auto& [key, value] : document["labels"].items()) labels[key] = value;
  return labels;
}

std::vector<Label> merge_labels(const std::map<std::string, std::string>& source,
                                const std::vector<LabelValue>& kept) {
  std::map<std::string, std::vector<LabelValue>> by_key;
  for (const auto& [key, value] : source) by_key[key].push_back({key, LabelOrigin::kSource, value});
  for (const auto& value : kept) by_key[value.key].push_back(value);
  std::vector<Label> labels;
  for (auto& [key, origins] : by_key) {
    std::sort(origins.begin(), origins.end(), counts_before);
    labels.push_back({key, std::move(origins)});
  }
  return labels;
}

std::map<std::string, std::string> counting_values(const std::vector<Label>& labels) {
  std::map<std::string, std::string> values;
  for (const Label& label : labels) values[label.key] = label.effective().value;
  return values;
}

json label_json(const Label& label) {
  json origins = json::array();
  for (const auto& value : label.origins) origins.push_back(value_json(value));
  return {{"key", label.key},
          {"value", label.effective().value},
          {"origin", origin_name(label.effective().origin)},
          {"origins", origins}};
}

json past_label_json(const PastLabel& past) {
  json out = value_json(past.was);
  out["key"] = past.was.key;
  out["until_ns"] = past.until_ns;
  out["until_user"] = past.until_user;
  return out;
}

}  // namespace nl::store
