#pragma once
// Reads a Chrome trace of any dialect: complete, begin/end, async, instant, counter, flow and metadata
// events. This is the whole pipeline behind an adapter; it starts and joins its own threads.

#include "ingest/adapter.h"
#include "ingest/formats/chrome/chrome_dialect.h"

namespace nl::ingest {

Result<void> read_chrome_trace(const ChromeDialect& dialect, ByteSource& source, const ReadOptions& options,
                               model::RunSink& sink, model::RunInfo& info);

/// The clock of a trace without a base time: Unix if the times look like it.
model::Clock chrome_clock(const ChromeFacts& facts);

/// A member that is a count or an id; nothing if it is absent, negative or too large.
std::optional<int32_t> small_int(const nlohmann::json& object, const char* key);

}  // namespace nl::ingest
