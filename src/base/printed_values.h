#pragma once
// What a program says of itself: values that it prints as NAME=VALUE.

#include <string_view>
#include <vector>

namespace nl {

/// The values that a text gives for a name, in their order. NAME=VALUE stands at the begin of a line or
/// behind a blank; the value goes to the next blank.
std::vector<std::string_view> printed_values(std::string_view text, std::string_view name);

}  // namespace nl
