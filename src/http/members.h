#pragma once
// Members of JSON that somebody else wrote. Pure functions, any thread.

#include <string>

#include "base/json.h"

namespace nl::http {

/// Empty if there is none, or if it is no text.
inline std::string text_member(const nlohmann::json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

}  // namespace nl::http
