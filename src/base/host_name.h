#pragma once
// What this machine calls itself. Any thread.

#include <string>

namespace nl {

/// Empty if the system does not say.
std::string host_name();

}  // namespace nl
