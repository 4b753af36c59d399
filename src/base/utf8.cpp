#include "base/utf8.h"

namespace nl {
namespace {

/// Bytes of a character by its first one; 0 for none that can start one.
size_t length_of(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

bool is_scalar(uint32_t point, size_t size) {
  static constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  return point >= kLeast[size] && point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF);
}

}  // namespace

Character character_at(std::string_view text, size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const Character broken{at, 1, first, false};
  const size_t size = length_of(first);
  if (size == 0 || at + size > text.size()) return broken;
  uint32_t point = size == 1 ? first : first & (0x7Fu >> size);
  for (size_t i = 1; i < size; i++) {
    if (!is_continuation(text[at + i])) return broken;
    point = point << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3F);
  }
  return is_scalar(point, size) ? Character{at, size, point, true} : broken;
}

bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    if (!character.valid) return false;
    at += character.size;
  }
  return true;
}

}  // namespace nl
