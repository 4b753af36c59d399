#pragma once
// Cookies as the server sets them: never for scripts. Pure functions, any thread.

#include <cstdint>
#include <optional>
#include <string>

namespace nl::http {

struct Cookie {
  const char* name;
  std::string value;
  std::string path;
  const char* same_site = "Strict";
  std::optional<int64_t> seconds = std::nullopt;  ///< none: until the browser ends; 0: it goes now
  bool is_secure = false;
};

inline std::string cookie(const Cookie& given) {
  return std::string(given.name) + "=" + given.value + "; Path=" + given.path +
         "; HttpOnly; SameSite=" + given.same_site +
         (given.seconds ? "; Max-Age=" + std::to_string(*given.seconds) : "") +
         (given.is_secure ? "; Secure" : "");
}

}  // namespace nl::http
