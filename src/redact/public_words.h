#pragma once
// The words that a redacted run may show: those in names that anybody can read in public packages, such as
// operators of frameworks and functions of vendor libraries, and those that analysis looks for.
// tools/public-words makes the list; none is taken from a profile. Read-only, so any thread may ask.

#include <string_view>

namespace nl::redact {

/// `word` is in lower case.
bool is_public_word(std::string_view word);

}  // namespace nl::redact
