#pragma once
// The versions of our JSON documents: "<name>/<n>" in the member `schema`. A reader of version n also reads
// older documents: a chain of steps brings them from each version to the next.

#include <span>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace nl::model {

/// Brings a document of version k to version k + 1; the number itself is written by migrate(). The document
/// is not validated yet.
using VersionStep = void (*)(nlohmann::json& document);

/// The number behind `name`, which ends in a slash; 0 if the text is something else.
int version_of(std::string_view schema, std::string_view name);

/// Applies the steps that are missing; steps[k] leads from version k + 1 to k + 2, so the present version is
/// steps.size() + 1. `bad_input` if the document is of another kind, `unsupported` if it is newer.
Result<void> migrate(nlohmann::json& document, std::string_view name, std::span<const VersionStep> steps);

/// The error for a document that is newer than this build.
Error newer_version(std::string_view schema, int known);

}  // namespace nl::model
