#include "base/small_json.h"

#include "base/json.h"

namespace nl {
namespace {

/// Strings are skipped; wrong JSON gives a wrong depth, which does no harm.
bool nests_too_deep(std::string_view text, int max_depth) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') i++;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > max_depth) return true;
    } else if (c == '}' || c == ']') {
      depth--;
    }
  }
  return false;
}

}  // namespace

nlohmann::json parse_small_json(std::string_view text, int max_depth) {
  // The library takes NUL for the end and leaves alone what comes behind it.
  const bool has_nul = text.find('\0') != std::string_view::npos;
  if (has_nul || nests_too_deep(text, max_depth)) return nlohmann::json(nlohmann::json::value_t::discarded);
  return nlohmann::json::parse(text, nullptr, false);
}

nlohmann::json kept_json(const nlohmann::json& value) {
  const auto text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return text.size() <= kMaxKeptJsonBytes ? value : nlohmann::json();
}

std::optional<int64_t> whole_number(const nlohmann::json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_number_unsigned()) return std::nullopt;
  const auto value = it->get<uint64_t>();
  if (value > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
  return static_cast<int64_t>(value);
}

}  // namespace nl
