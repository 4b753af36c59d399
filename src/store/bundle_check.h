#pragma once
// Checks that a bundle follows its schemas: run.json, and the columns of each table that it lists. The
// content of the tables is checked by `verify`.

#include <string>
#include <vector>

#include "base/json_schema.h"

namespace nl::store {

/// At most `most` faults; pointers are those of run.json.
Result<std::vector<JsonFault>> bundle_faults(const std::string& folder, size_t most);

}  // namespace nl::store
