#pragma once
// A run as text, one JSON object a row, for comparing: the rows an adapter pushes, or those a bundle gives
// back.

#include <string>

#include "base/result.h"
#include "ingest/adapter.h"

namespace nl::golden {

/// What the adapter makes of the bytes: rows by table, then facts of the run. An error is one line with its
/// code.
std::string text_of_bytes(std::string_view bytes, const ingest::ReadOptions& options);

/// Writes the bytes as a bundle into `folder` and reads the rows back with SQL; only for inputs without
/// error.
Result<std::string> text_of_bundle(std::string_view bytes, const std::string& folder);

}  // namespace nl::golden
