#pragma once
// The JSON Schema of run.json, which the build embeds.

#include <string>

namespace nl::model {

/// The text of schema/run.schema.json.
const std::string& run_schema_text();

}  // namespace nl::model
