#include "exports/safe_utf8.h"

#include <cstdint>
#include <cstring>

#include "base/utf8.h"

namespace nl::exports {
namespace {

/// Eight bytes at a time: nearly all names are ASCII.
bool is_ascii(std::string_view text) {
  size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    if ((word & 0x8080808080808080u) != 0) return false;
  }
  for (; at < text.size(); at++) {
    if (static_cast<unsigned char>(text[at]) >= 0x80) return false;
  }
  return true;
}

}  // namespace

std::string_view safe_utf8(std::string_view text, std::string& scratch) {
  if (is_ascii(text) || is_utf8(text)) return text;
  scratch.clear();
  for (size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    if (character.valid) {
      scratch.append(text, at, character.size);
    } else {
      scratch += "\xEF\xBF\xBD";
    }
    at += character.size;
  }
  return scratch;
}

}  // namespace nl::exports
