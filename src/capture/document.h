#pragma once
// capture.json: what a capture says about itself. It is one of the sources of the run, so its facts are kept
// like those of any profiler. The adapter `capture` reads it.

#include <string>

#include "base/environment.h"
#include "base/json.h"
#include "base/result.h"
#include "wire/clock_pair.h"

namespace nl::capture {

/// Tool, command, folder, allowed environment, checkout, host, GPUs and capabilities, as they are now.
nlohmann::json describe_capture(const Environment& surroundings, const std::string& command,
                                const std::string& folder);

/// As the document has it under `clock`.
nlohmann::json clock_pair_json(const wire::ClockPair& pair);

/// {path, bytes, sha256} of a model or an input.
Result<nlohmann::json> file_json(const std::string& path);

/// The text of the file: what it is comes first.
std::string document_text(const nlohmann::json& document);

}  // namespace nl::capture
