#pragma once
// Validates a document against its schema: a run file of any size, a run.json, or the folder of a bundle.

#include <string>
#include <vector>

#include "base/json_schema.h"
#include "ops/operation.h"

namespace nl::ops {

struct Validation {
  std::string kind;               ///< run-file, run or bundle
  std::vector<JsonFault> faults;  ///< at most kMaxShownFaults
};

inline constexpr size_t kMaxShownFaults = 20;

/// An error only if the file cannot be read at all, or is of a version that is not known.
Result<Validation> validate_path(Context& context, const std::string& path);

}  // namespace nl::ops
