#pragma once
// Looks at a bundle that somebody else made before anything in it is read: what its tables claim must be what
// run.json says, of our own columns, and in proportion to the files. The engine would otherwise take
// gigabytes for a file of some kilobytes.

#include <string>

#include "base/json.h"
#include "base/result.h"

namespace nl::store {

/// bad_input, limit or unsupported with the table that cannot be read. A table whose file is missing or
/// damaged passes: whoever reads it gets told.
Result<void> check_foreign_tables(const std::string& bundle, const nlohmann::json& document);

}  // namespace nl::store
