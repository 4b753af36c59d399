#pragma once
// Changes the names inside of a mangled name. Each stands behind its length there, so that both change.

#include <functional>
#include <string>
#include <string_view>

namespace nl::redact {

/// `changed` gives the new text of each name. What cannot be read as a name stays.
std::string with_names(std::string_view mangled, const std::function<std::string(std::string_view)>& changed);

}  // namespace nl::redact
