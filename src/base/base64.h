#pragma once
// Base64 of RFC 4648. Pure functions, any thread.

#include <optional>
#include <string>
#include <string_view>

namespace nl {

/// With + / and padding, as headers have it.
std::string base64(std::string_view bytes);
/// With - _ and without padding, as addresses and tokens have it.
std::string base64url(std::string_view bytes);
/// Of base64url; nothing if it has a wrong letter or length, or bits that no encoder sets.
std::optional<std::string> bytes_of_base64url(std::string_view text);

}  // namespace nl
