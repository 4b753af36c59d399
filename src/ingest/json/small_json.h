#pragma once
// Reads an input that consists of one small JSON document.

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "ingest/source/byte_source.h"

namespace nl::ingest {

/// The whole input, which must be small (kMaxSmallJsonBytes) and valid.
Result<nlohmann::json> read_small_json(ByteSource& source);

}  // namespace nl::ingest
