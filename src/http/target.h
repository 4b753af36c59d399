#pragma once
// The target of a request, "/api/v1/runs?tag=a%20b", taken apart. Untrusted. Pure functions, any thread.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace nl::http {

struct Target {
  std::string path;
  std::vector<std::pair<std::string, std::string>> query;
};

/// bad_input if it is no absolute path, or if an escape or a character is wrong.
Result<Target> parse_target(std::string_view target);

/// As an address of this server: with one slash at its beginning, since two would name another server.
std::string written(const Target& target);

/// Percent signs for all but letters, digits and -._~/
std::string escaped_path(std::string_view path);

/// "a=1; b=2": the value of a cookie; empty if there is none.
std::string_view cookie_of(std::string_view header, std::string_view name);

}  // namespace nl::http
