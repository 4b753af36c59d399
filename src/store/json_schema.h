#pragma once
// JSON Schema validation (valijson). One function, so that its headers are compiled once.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"

namespace nl::store {

/// bad_input naming the JSON pointer of the first fault if `document` does not follow the schema.
Result<void> validate_json(const nlohmann::json& document, const std::string& schema_text,
                           const std::string& what);

}  // namespace nl::store
