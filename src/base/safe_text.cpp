#include "base/safe_text.h"

#include <fmt/core.h>

#include "base/utf8.h"

namespace nl {
namespace {

bool is_between(uint32_t point, uint32_t first, uint32_t last) {
  return point >= first && point <= last;
}

/// What a terminal obeys, and signs that make text run backwards.
bool is_unsafe(const Character& one) {
  if (!one.valid) return true;
  if (one.point == '\n' || one.point == '\t') return false;
  return one.point < 0x20 || is_between(one.point, 0x7F, 0x9F) || is_between(one.point, 0x202A, 0x202E) ||
         is_between(one.point, 0x2066, 0x2069);
}

/// The first unsafe character at or behind `at`, or the end.
size_t next_unsafe(std::string_view text, size_t at) {
  while (at < text.size()) {
    const Character one = character_at(text, at);
    if (is_unsafe(one)) return at;
    at += one.size;
  }
  return at;
}

/// The length of one of our styles at the front; 0 if there is none.
size_t style_length(std::string_view text) {
  for (const std::string_view style : {"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[33m"}) {
    if (text.starts_with(style)) return style.size();
  }
  return 0;
}

}  // namespace

std::string text_for_people(std::string_view text, bool with_colors) {
  std::string out;
  for (size_t at = 0;;) {
    const size_t end = next_unsafe(text, at);
    out += text.substr(at, end - at);
    if (end == text.size()) return out;
    const size_t style = with_colors ? style_length(text.substr(end)) : 0;
    out += style > 0 ? text.substr(end, style) : "\xEF\xBF\xBD";
    at = end + (style > 0 ? style : character_at(text, end).size);
  }
}

std::string json_for_terminals(std::string json) {
  size_t end = next_unsafe(json, 0);
  if (end == json.size()) return json;
  std::string out;
  for (size_t at = 0; at < json.size(); end = next_unsafe(json, at)) {
    out += json.substr(at, end - at);
    if (end == json.size()) break;
    const Character one = character_at(json, end);
    out += fmt::format("\\u{:04x}", one.valid ? one.point : 0xFFFD);
    at = end + one.size;
  }
  return out;
}

}  // namespace nl
