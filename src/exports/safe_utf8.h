#pragma once
// Formats of other tools want UTF-8, names in profiles may hold any bytes.

#include <string>
#include <string_view>

namespace nl::exports {

/// The text itself if it is UTF-8. If not, a copy in `scratch` with U+FFFD for each byte that is none.
std::string_view safe_utf8(std::string_view text, std::string& scratch);

}  // namespace nl::exports
