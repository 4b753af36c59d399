#pragma once
// JSON that is small by nature (the text around the events, metadata), read into a tree. Nesting is bounded:
// the tree's library copies and prints by recursion.

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/result.h"
#include "ingest/byte_source.h"

namespace nl::ingest {

inline constexpr int kMaxSmallJsonDepth = 128;
inline constexpr size_t kMaxSmallJsonBytes = 8 << 20;

/// A discarded value if the text is not valid JSON or nests deeper than allowed.
nlohmann::json parse_small_json(std::string_view text, int max_depth = kMaxSmallJsonDepth);

/// The whole input, which must be small and valid.
Result<nlohmann::json> read_small_json(ByteSource& source);

}  // namespace nl::ingest
