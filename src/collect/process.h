#pragma once
// The recording of this process: its shared file with names and losses, and the rings of its threads. A ring
// belongs to one thread at a time. When the thread ends, the next new thread continues in the same ring, so
// there are never more rings than threads that ran at the same time. A forked child starts a new recording
// and keeps the names it knows.

#include <atomic>
#include <string_view>

#include "wire/live.h"
#include "wire/ring.h"

namespace nl::collect {

/// A scope that a thread pushed and has not popped yet; its name is 0 if it was lost.
struct Pushed {
  uint32_t domain;
  uint32_t name;
};
inline constexpr uint32_t kMaxPushed = 128;

/// The ring of a thread and what the thread has open in it.
struct ThreadRing {
  wire::RingWriter writer;
  uint64_t open_words = 0;  ///< kept free for the ends of scopes, so that no end is lost
  uint64_t token = 0;       ///< of scopes begun by this thread; no other thread or process has the same
  bool gave_up = false;     ///< after a wait in vain, until there is room again
  ThreadRing* next_free = nullptr;
  uint32_t open_count = 0;  ///< of open
  uint32_t too_deep = 0;    ///< pushed beyond
  Pushed open[kMaxPushed] = {};
};

struct Settings {
  uint64_t ring_bytes = wire::kDefaultRingBytes;
  int64_t wait_ns = 0;  ///< for room in a full ring; 0: the marker is lost at once
};

/// From the environment; false if nothing can be recorded. Any thread, any number of times.
bool start_process();
/// There is a recording, so that losses can be counted at least.
bool has_session();

const Settings& settings();

/// The ring of the calling thread, which it has said its name in; nullptr, and why, if there is none or no
/// room in it.
ThreadRing* acquire_ring(wire::Loss& why);

uint32_t name_number(std::string_view domain, std::string_view text, size_t max_bytes = wire::kMaxNameBytes);
/// The text of a number that name_number gave.
std::string_view name_text(uint32_t name);
/// True when names should be kept for those that come again and again.
bool are_names_scarce();
/// A name that is there already, or 0.
uint32_t known_name(std::string_view domain, std::string_view text);

/// A ring that is of no thread; its writer takes care that it is one at a time. nullptr if there is no room.
ThreadRing* make_ring_of(std::string_view name);

/// One line for the person who records, at most one a process; the first counts.
void say(std::string_view line);

/// Writes the name of the calling thread, cut to what fits.
void rename_thread(ThreadRing& ring, std::string_view name);

/// Counts a marker that is lost outside of a ring; takes no lock.
void lose(wire::Loss reason);

/// The ring of this thread if it is ready for markers. Initial-exec: the library is loaded into programs that
/// run, and a pointer fits into what they keep free.
extern thread_local constinit ThreadRing* thread_ring __attribute__((tls_model("initial-exec")));

}  // namespace nl::collect
