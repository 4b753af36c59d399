#pragma once
// Reads Itanium mangled names ("_ZN2at6native..."). They are demangled where that is cheap; otherwise only
// the names inside them are read, since back references can make the full text huge.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nl {

bool is_mangled(std::string_view raw);

/// Nothing if the name is malformed, or if its back references could expand it without bound.
std::optional<std::string> demangle(std::string_view mangled);

struct MangledNames {
  std::string function;               ///< with namespaces
  std::vector<std::string> functors;  ///< the names that follow, at most `limit`
};

/// Reads the names without expanding the rest: for names that demangle() declines.
MangledNames names_in_mangled(std::string_view mangled, size_t limit);

}  // namespace nl
