#pragma once
// Reads JSON that is small by nature (metadata, the text around the events) into a tree. The nesting depth is
// limited, because the JSON library copies and prints a tree by recursion.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

namespace nl {

inline constexpr int kMaxSmallJsonDepth = 128;
inline constexpr size_t kMaxSmallJsonBytes = 8 << 20;

/// A discarded value if the text is not valid JSON or nests deeper than allowed.
nlohmann::json parse_small_json(std::string_view text, int max_depth = kMaxSmallJsonDepth);

/// The value as it is if its text is at most kMaxKeptJsonBytes long, else null: for what is copied into the
/// run document, since a tree takes many times its text.
inline constexpr size_t kMaxKeptJsonBytes = 1 << 20;
nlohmann::json kept_json(const nlohmann::json& value);

/// A whole number from 0 to the largest int64; nothing if the member is anything else.
std::optional<int64_t> whole_number(const nlohmann::json& object, const char* key);

}  // namespace nl
