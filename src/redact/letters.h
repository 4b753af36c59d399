#pragma once
// Letters of ASCII, whatever the locale.

#include <string>
#include <string_view>

namespace nl::redact {

inline bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
inline bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
inline bool is_ascii_letter(char c) {
  return is_upper(c) || is_lower(c);
}
inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = is_upper(c) ? static_cast<char>(c + ('a' - 'A')) : c;
  return lower;
}

}  // namespace nl::redact
