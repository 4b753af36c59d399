#pragma once
// The functions behind the public marker API. Each call writes one marker into the ring of its thread, or
// counts it as lost. Once the thread has its ring, a call takes no lock, allocates nothing and makes no
// system call, because it runs inside the user's program. Any thread.

#include <cstddef>
#include <cstdint>

#include "wire/record.h"

namespace nl::collect {

struct ThreadRing;

// As in neurolens_api (include/neurolens/neurolens.h).
uint32_t name(const char* domain, size_t domain_bytes, const char* text, size_t text_bytes);
uint64_t begin(uint32_t name);
void end(uint64_t token, uint32_t name);
uint64_t begin_on_lane(uint32_t name, uint64_t lane);
void end_on_lane(uint64_t token, uint32_t name, uint64_t lane);
void mark(uint32_t name, const char* json, size_t json_bytes);
void counter(uint32_t name, double value);
void name_thread(const char* text, size_t text_bytes);
void refuse_reused();
uint64_t begin_with(uint32_t name, uint64_t lane, const char* json, size_t json_bytes);

/// A scope without a token: pop ends the innermost one of the domain on this thread. The number of scopes of
/// the domain around it, -1 if that is not known.
int push(uint32_t domain, uint32_t name, const char* json, size_t json_bytes);
int pop(uint32_t domain);

/// A range that any thread may end; 0 if it was lost.
uint64_t start_range(uint32_t name, const char* json, size_t json_bytes);
void end_range(uint64_t range);

/// Any thread of the process.
void name_thread_of(uint64_t thread_id, uint32_t name);

/// A whole record into a ring that is of no thread, after a wait for room; false if there is none. The caller
/// counts the loss.
bool put_record(ThreadRing& ring, const wire::Word* words, uint64_t count, int64_t wait_ns);

/// A call that recordings have no form for.
void refuse_unsupported();

}  // namespace nl::collect
