#include "ingest/small_json.h"

#include <nlohmann/json.hpp>

namespace nl::ingest {
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
  if (nests_too_deep(text, max_depth)) return nlohmann::json(nlohmann::json::value_t::discarded);
  return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace nl::ingest
