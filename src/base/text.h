#pragma once
// Small text functions. Those that hot loops need are inline.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace nl {

/// Equality without a call; for the short texts of profiles.
inline bool same_text(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  const char* p = a.data();
  const char* q = b.data();
  size_t n = a.size();
  for (; n >= 8; p += 8, q += 8, n -= 8) {
    uint64_t x = 0;
    uint64_t y = 0;
    std::memcpy(&x, p, 8);
    std::memcpy(&y, q, 8);
    if (x != y) return false;
  }
  for (; n > 0; p++, q++, n--) {
    if (*p != *q) return false;
  }
  return true;
}

/// 0 to 9, whatever the locale.
inline bool is_digit(char c) {
  return static_cast<unsigned char>(c - '0') < 10;
}

inline bool has_part(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// A to Z only, whatever the locale.
std::string lower(std::string_view text);

/// Without blanks, tabs and line ends at both ends.
std::string_view trimmed(std::string_view text);

/// The parts between the separators; some may be empty.
std::vector<std::string> split(std::string_view text, char separator);

/// Letters to add, drop or change to get from one word to the other; for "did you mean".
size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace nl
