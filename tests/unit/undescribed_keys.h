#pragma once
// Which keys of an answer nobody describes, for tests of result schemas.

#include <string>
#include <vector>

#include "base/json.h"

namespace nl {

/// Properties of the schema without a description, as paths.
inline std::vector<std::string> undescribed_keys(const nlohmann::json& schema, const std::string& path = "") {
  std::vector<std::string> out;
  const auto look_into = [&](const nlohmann::json& part, const std::string& at) {
    for (auto& key : undescribed_keys(part, at)) out.push_back(std::move(key));
  };
  const auto properties = schema.value("properties", nlohmann::json::object());
  for (const auto& [key, property] : properties.items()) {
    if (!property.contains("description")) out.push_back(path + "/" + key);
    look_into(property, path + "/" + key);
  }
  for (const char* key : {"items", "additionalProperties"}) {
    if (schema.contains(key) && schema[key].is_object()) look_into(schema[key], path);
  }
  const auto options = schema.value("anyOf", nlohmann::json::array());
  for (const auto& option : options) look_into(option, path);
  return out;
}

}  // namespace nl
