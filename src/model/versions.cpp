#include "model/versions.h"

#include <charconv>

namespace nl::model {

int version_of(std::string_view schema, std::string_view name) {
  if (!schema.starts_with(name)) return 0;
  const std::string_view digits = schema.substr(name.size());
  int version = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), version);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size();
  return whole && version > 0 ? version : 0;
}

Error newer_version(std::string_view schema, int known) {
  return Error{ErrorCode::kUnsupported,
               "this build reads up to version " + std::to_string(known) + ", not: " + std::string(schema),
               "update neurolens"};
}

Result<void> migrate(nlohmann::json& document, std::string_view name, std::span<const VersionStep> steps) {
  const bool named = document.is_object() && document.contains("schema") && document["schema"].is_string();
  const std::string schema = named ? document["schema"].get<std::string>() : "";
  const int present = static_cast<int>(steps.size()) + 1;
  const int version = version_of(schema, name);
  if (version == 0) {
    return Error{ErrorCode::kBadInput, "/schema: expected " + std::string(name) + std::to_string(present)};
  }
  if (version > present) return newer_version(schema, present);
  for (int at = version; at < present; at++) steps[static_cast<size_t>(at - 1)](document);
  document["schema"] = std::string(name) + std::to_string(present);
  return {};
}

}  // namespace nl::model
