#include "ingest/small_json.h"

#include <algorithm>

#include "base/json.h"

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

/// All of it, in pieces that grow with it: most are far below the limit.
Result<std::string> read_small(ByteSource& source) {
  constexpr size_t kFirstPiece = 64 << 10;
  std::string text;
  for (;;) {
    const size_t had = text.size();
    text.resize(had + std::min(std::max(had, kFirstPiece), kMaxSmallJsonBytes + 1 - had));
    NL_TRY(const size_t got, source.read(text.data() + had, text.size() - had));
    text.resize(had + got);
    if (got == 0) return text;
    if (text.size() > kMaxSmallJsonBytes)
      return Error{ErrorCode::kLimit,
                   "the file is larger than " + std::to_string(kMaxSmallJsonBytes) + " bytes"};
  }
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

Result<nlohmann::json> read_small_json(ByteSource& source) {
  NL_TRY(const std::string text, read_small(source));
  auto json = parse_small_json(text);
  if (json.is_discarded()) {
    return Error{ErrorCode::kBadInput, "the JSON is not valid", "the file is truncated or of another format"};
  }
  return json;
}

}  // namespace nl::ingest
