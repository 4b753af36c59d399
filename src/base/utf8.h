#pragma once
// Reads the characters of a text that may hold bytes of any kind.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nl {

struct Character {
  size_t at;       ///< offset
  size_t size;     ///< bytes
  uint32_t point;  ///< code point; of what is no UTF-8, the byte
  bool valid;
};

/// A byte inside of a character of UTF-8, which begins none.
inline bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

/// The character that begins at `at`; a byte that begins none is one by itself, and not valid.
Character character_at(std::string_view text, size_t at);

/// Is all of it valid?
bool is_utf8(std::string_view text);

}  // namespace nl
