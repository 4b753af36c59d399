#pragma once
// capture.json: what a capture says of itself. It is a source of the run, so its facts are kept like those of
// any profiler; the adapter `capture` reads it.

#include <string>

#include "base/json.h"

namespace nl::capture {

/// Tool, command, folder, allowed environment, checkout, host, GPUs and capabilities, as they are now.
nlohmann::json describe_capture(const std::string& command, const std::string& folder);

/// The text of the file: what it is comes first.
std::string document_text(const nlohmann::json& document);

}  // namespace nl::capture
