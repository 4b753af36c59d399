#pragma once
// What this machine calls itself. Any thread.

#include <string>
#include <string_view>

namespace nl {

/// Empty if the system does not say.
std::string host_name();

/// "localhost", "127.0.0.1" and its like, "::1": no name that somebody else decides about.
bool is_this_machine(std::string_view host);

}  // namespace nl
