#pragma once
// The main loop of readers that process a text row by row. It reports progress and checks for cancellation.

#include <cstdint>

#include "base/result.h"
#include "ingest/adapter.h"
#include "ingest/source/byte_source.h"

namespace nl::ingest {

/// Calls `next`, a Result<bool>, until it says that there is no more; now and then tells how far it is and
/// asks whether it shall stop.
template <class Next>
Result<void> for_each_row(const ByteSource& source, const ReadOptions& options, Next&& next) {
  constexpr int64_t kRowsBetween = 256;
  for (int64_t n = 0;; n++) {
    NL_TRY(const bool more, next());
    if (!more) return {};
    if (n % kRowsBetween != 0) continue;
    if (options.cancelled()) return cancelled_error();
    options.progress(source);
  }
}

}  // namespace nl::ingest
