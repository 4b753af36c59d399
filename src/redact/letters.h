#pragma once
// Letters of ASCII, whatever the locale.

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

}  // namespace nl::redact
