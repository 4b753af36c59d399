#pragma once
// Functions on the text of a path. They never touch the file system.

#include <string>
#include <string_view>

namespace nl {

/// What stands behind the last slash.
inline std::string base_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

/// The text with `folder` and the name behind it taken out: for paths that nobody else is to know.
inline std::string without_folder(std::string text, std::string_view folder) {
  if (folder.empty()) return text;
  for (size_t at = text.find(folder); at != std::string::npos; at = text.find(folder, at)) {
    const size_t end = text.find('/', at + folder.size());
    text.erase(at, end == std::string::npos ? folder.size() : end + 1 - at);
  }
  return text;
}

/// The same of a path of any system, as profiles hold them.
inline std::string foreign_base_name(std::string_view path) {
  return std::string(path.substr(path.find_last_of("/\\") + 1));
}

}  // namespace nl
