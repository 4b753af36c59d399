#pragma once
// Functions on the text of a path. They never touch the file system.

#include <string>
#include <string_view>

namespace nl {

/// What stands behind the last slash.
inline std::string base_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

/// The same of a path of any system, as profiles hold them.
inline std::string foreign_base_name(std::string_view path) {
  return std::string(path.substr(path.find_last_of("/\\") + 1));
}

}  // namespace nl
