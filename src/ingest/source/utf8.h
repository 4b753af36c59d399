#pragma once
// Checks and repairs text of a source so that it is valid UTF-8.

#include <string>
#include <string_view>

namespace nl::ingest {

bool is_utf8(std::string_view text);
/// With U+FFFD for each byte that is not part of a character.
std::string repaired_utf8(std::string_view text);

}  // namespace nl::ingest
