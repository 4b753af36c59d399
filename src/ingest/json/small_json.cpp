#include "ingest/json/small_json.h"

#include <algorithm>

#include "base/json.h"
#include "base/small_json.h"

namespace nl::ingest {
namespace {

/// All of it, in pieces that grow with it: most are far below the limit.
Result<std::string> read_small(ByteSource& source) {
  constexpr size_t kFirstPiece = 64 << 10;
  std::string text;
  for (;;) {
    const size_t had = text.size();
    text.resize(had + std::min(std::max(had, kFirstPiece), kMaxSmallJsonBytes + 1 - had));
    NL_TRY(const size_t got, source.read(text.data() + had, text.size() - had));
    text.resize(had + got);
    if (got == 0) return text;
    if (text.size() > kMaxSmallJsonBytes)
      return Error{ErrorCode::kLimit,
                   "the file is larger than " + std::to_string(kMaxSmallJsonBytes) + " bytes"};
  }
}

}  // namespace

Result<nlohmann::json> read_small_json(ByteSource& source) {
  NL_TRY(const std::string text, read_small(source));
  auto json = parse_small_json(text);
  if (json.is_discarded()) {
    return Error{ErrorCode::kBadInput, "the JSON is not valid", "the file is truncated or of another format"};
  }
  return json;
}

}  // namespace nl::ingest
