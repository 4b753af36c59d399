#pragma once
// Parses shares as people write them in options and files.

#include <string>

#include "base/result.h"

namespace nl::ops {

/// "3%", "3 %" or "0.03"; bad_input if it is not a share from 0 to 10.
Result<double> parse_share(const std::string& option, const std::string& text);

}  // namespace nl::ops
