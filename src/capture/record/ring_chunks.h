#pragma once
// Turns the words of a ring into chunks of a recording. Each chunk belongs to one thread.

#include <functional>

#include "capture/record/live_process.h"

namespace nl::capture {

using AddChunk = std::function<void(const wire::ChunkHeader&, std::string_view payload)>;

/// Takes the next records that lie before `head`, at most some hundred KB, and passes them on. A new thread
/// in the ring begins a chunk, even an empty one, so that the last chunk of a ring always says whose it is.
/// False when there is nothing left. A ring that holds no records any more is marked as damaged.
bool take_chunks(LiveRing& ring, uint32_t process, uint32_t number, uint64_t head, const AddChunk& add);

}  // namespace nl::capture
