#include "cli/safe_text.h"

#include <fmt/core.h>

#include <cstdint>
#include <functional>

namespace nl::cli {
namespace {

/// A character of UTF-8; a byte that begins none is one by itself.
struct Character {
  uint32_t code = 0;
  size_t bytes = 1;
  bool is_valid = false;
};

uint8_t byte_at(std::string_view text, size_t place) {
  return place < text.size() ? static_cast<uint8_t>(text[place]) : 0;
}

Character first_character(std::string_view text) {
  const uint8_t first = byte_at(text, 0);
  if (first < 0x80) return {first, 1, true};
  const size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return {};
  uint32_t code = first & (0x7FU >> bytes);
  for (size_t i = 1; i < bytes; i++) {
    const uint8_t next = byte_at(text, i);
    if ((next & 0xC0) != 0x80) return {};
    code = code << 6 | (next & 0x3FU);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kLeast[bytes] || code > 0x10FFFF || is_surrogate) return {};
  return {code, bytes, true};
}

bool is_between(uint32_t code, uint32_t first, uint32_t last) {
  return code >= first && code <= last;
}

/// What a terminal obeys, and signs that make text run backwards.
bool is_unsafe(const Character& one) {
  if (!one.is_valid) return true;
  if (one.code == '\n' || one.code == '\t') return false;
  return one.code < 0x20 || is_between(one.code, 0x7F, 0x9F) || is_between(one.code, 0x202A, 0x202E) ||
         is_between(one.code, 0x2066, 0x2069);
}

/// The length of one of our styles at the front; 0 if there is none.
size_t style_length(std::string_view text) {
  for (const std::string_view style : {"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[33m"}) {
    if (text.starts_with(style)) return style.size();
  }
  return 0;
}

/// A copy in which `replaced` stands for each unsafe character that is not `kept`.
std::string with_replaced(std::string_view text, const std::function<size_t(std::string_view)>& kept,
                          const std::function<std::string(const Character&)>& replaced) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character one = first_character(text);
    size_t bytes = one.bytes;
    if (!is_unsafe(one)) {
      out += text.substr(0, bytes);
    } else if (const size_t style = kept(text); style > 0) {
      bytes = style;
      out += text.substr(0, bytes);
    } else {
      out += replaced(one);
    }
    text.remove_prefix(bytes);
  }
  return out;
}

}  // namespace

std::string text_for_people(std::string_view text, bool with_colors) {
  return with_replaced(
      text, [&](std::string_view rest) { return with_colors ? style_length(rest) : 0; },
      [](const Character&) { return "\xEF\xBF\xBD"; });
}

std::string json_for_terminals(std::string_view json) {
  return with_replaced(
      json, [](std::string_view) { return 0; },
      [](const Character& one) { return fmt::format("\\u{:04x}", one.is_valid ? one.code : 0xFFFD); });
}

}  // namespace nl::cli
