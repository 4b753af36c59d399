#pragma once
// The labels of a run. For each key: the value from every origin that gave one, and which of them counts.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace nl::store {

enum class LabelOrigin {
  kSource,   ///< run.json: what the profile says
  kSidecar,  ///< neurolens.yaml beside the profile
  kImport,   ///< import --set
  kUser,     ///< neurolens label
};

/// The stable spelling used in state and JSON.
const char* origin_name(LabelOrigin origin);
std::optional<LabelOrigin> origin_of_name(const std::string& name);

/// What one origin says about one key.
struct LabelValue {
  std::string key;
  LabelOrigin origin = LabelOrigin::kUser;
  std::string value;
  bool forced = false;    ///< counts even against the source
  int64_t set_at_ns = 0;  ///< Unix time; 0 for the source
  std::string user = {};  ///< empty for the source
};

/// A value that no longer stands: replaced or removed.
struct PastLabel {
  LabelValue was;
  int64_t until_ns = 0;
  std::string until_user;
};

struct Label {
  std::string key;
  std::vector<LabelValue> origins;  ///< never empty; the one that counts comes first
  const LabelValue& effective() const { return origins.front(); }
};

/// What run.json says: `labels`, and precision and engine from `software`.
std::map<std::string, std::string> source_labels(const nlohmann::json& document);

/// By key. A forced value of a person counts first, then the source, then the latest act of a person, then
/// the sidecar.
std::vector<Label> merge_labels(const std::map<std::string, std::string>& source,
                                const std::vector<LabelValue>& kept);

/// The value that counts, by key.
std::map<std::string, std::string> counting_values(const std::vector<Label>& labels);

nlohmann::json label_json(const Label& label);
nlohmann::json past_label_json(const PastLabel& past);

}  // namespace nl::store
