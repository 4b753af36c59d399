#pragma once
// Small things about text that hot loops need inline.

#include <cstdint>
#include <cstring>
#include <string_view>

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

}  // namespace nl
