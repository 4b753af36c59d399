#include "base/base64.h"

#include <cstdint>

namespace nl {
namespace {

constexpr std::string_view kUsual = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kOfAddresses = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string encoded(std::string_view bytes, std::string_view letters) {
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6) out += letters[bits >> (count - 6) & 63];
  }
  if (count > 0) out += letters[bits << (6 - count) & 63];
  return out;
}

}  // namespace

std::string base64(std::string_view bytes) {
  std::string out = encoded(bytes, kUsual);
  while (out.size() % 4 != 0) out += '=';
  return out;
}

std::string base64url(std::string_view bytes) {
  return encoded(bytes, kOfAddresses);
}

std::optional<std::string> bytes_of_base64url(std::string_view text) {
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const size_t value = kOfAddresses.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 255);
  }
  const bool has_rest = count >= 6 || (bits & ((1U << count) - 1)) != 0;
  if (has_rest) return std::nullopt;
  return out;
}

}  // namespace nl
