// The library that is loaded into the customer's process (include/neurolens/neurolens.h): each call is one
// marker, written into the ring of its thread or counted as lost. No lock, no allocation and no system call
// once the thread has its ring.

#include <time.h>

#include "collect/process.h"
#include "neurolens/neurolens.h"

namespace nl::collect {
namespace {

using wire::Loss;
using wire::RecordKind;
using wire::Word;

/// True while this thread is inside of the collector: what a signal handler marks then is lost.
thread_local constinit bool is_inside __attribute__((tls_model("initial-exec"))) = false;

class Inside {
 public:
  Inside() : is_first_(!is_inside) {
    is_inside = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~Inside() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (is_first_) is_inside = false;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  /// False, and the loss counted, in a signal handler.
  bool may_write() const {
    if (!is_first_) lose(Loss::kReentered);
    return is_first_;
  }

 private:
  const bool is_first_;
};

/// The policy of a full ring. After one wait in vain nobody waits again until there was room.
__attribute__((noinline, cold)) bool wait_for_room(ThreadRing& ring, uint64_t words) {
  const int64_t end = wire::clock_ns(CLOCK_MONOTONIC) + (ring.gave_up ? 0 : settings().wait_ns);
  while (wire::clock_ns(CLOCK_MONOTONIC) < end) {
    const timespec pause{0, 50'000};
    nanosleep(&pause, nullptr);
    if (ring.writer.has_room(words)) return true;
  }
  ring.gave_up = true;
  ring.writer.lose(Loss::kRingFull);
  return false;
}

/// False, and the loss counted, if the ring is full. Room for the ends of open scopes is never taken.
bool has_room(ThreadRing& ring, uint64_t words) {
  if (__builtin_expect(!ring.writer.has_room(words + ring.open_words), 0))
    return wait_for_room(ring, words + ring.open_words);
  ring.gave_up = false;
  return true;
}

void put_head(ThreadRing& ring, RecordKind kind, uint64_t words, uint32_t name) {
  ring.writer.put(0, wire::record_head(kind, static_cast<uint32_t>(words), name));
  ring.writer.put(1, static_cast<Word>(wire::clock_ns(CLOCK_MONOTONIC)));
}

/// The ring if a marker with that name can be written into it; the loss is counted if not.
ThreadRing* ring_for(uint32_t name, uint64_t words) {
  Loss why = Loss::kNoRing;
  ThreadRing* const ring = __builtin_expect(thread_ring != nullptr, 1) ? thread_ring : acquire_ring(why);
  if (__builtin_expect(ring == nullptr, 0)) {
    lose(why);
    return nullptr;
  }
  if (__builtin_expect(name == 0, 0)) {
    ring->writer.lose(Loss::kNamesFull);
    return nullptr;
  }
  return has_room(*ring, words) ? ring : nullptr;
}

uint64_t begin_scope(RecordKind kind, uint32_t words, uint32_t name, uint64_t lane) {
  const Inside inside;
  if (!inside.may_write()) return 0;
  ThreadRing* const ring = ring_for(name, 2 * words);
  if (ring == nullptr) return 0;
  put_head(*ring, kind, words, name);
  if (words > 2) ring->writer.put(2, lane);
  ring->writer.publish(words);
  ring->open_words += words;
  return ring->token;
}

void end_scope(RecordKind kind, uint32_t words, uint64_t token, uint32_t name, uint64_t lane) {
  const Inside inside;
  if (!inside.may_write()) return;
  ThreadRing* const ring = thread_ring;
  if (__builtin_expect(token == 0 || ring == nullptr || ring->token != token, 0)) {
    const Loss reason = token == 0 ? Loss::kBeginLost : Loss::kForeignEnd;
    if (ring != nullptr) return ring->writer.lose(reason);
    start_process();
    return lose(reason);
  }
  put_head(*ring, kind, words, name);
  if (words > 2) ring->writer.put(2, lane);
  ring->writer.publish(words);
  ring->open_words -= words;
}

// ---- The functions of the table

uint32_t name(const char* domain, size_t domain_bytes, const char* text, size_t text_bytes) {
  if (is_inside) return 0;  // its marker counts the loss
  const Inside inside;
  return name_number({domain, domain_bytes}, {text, text_bytes});
}

uint64_t begin(uint32_t name) {
  return begin_scope(RecordKind::kBegin, wire::kScopeWords, name, 0);
}

void end(uint64_t token, uint32_t name) {
  end_scope(RecordKind::kEnd, wire::kScopeWords, token, name, 0);
}

uint64_t begin_on_lane(uint32_t name, uint64_t lane) {
  return begin_scope(RecordKind::kLaneBegin, wire::kLaneWords, name, lane);
}

void end_on_lane(uint64_t token, uint32_t name, uint64_t lane) {
  end_scope(RecordKind::kLaneEnd, wire::kLaneWords, token, name, lane);
}

void mark(uint32_t name, const char* json, size_t json_bytes) {
  const Inside inside;
  if (!inside.may_write()) return;
  if (json_bytes > wire::kMaxAttributeBytes) {
    start_process();
    return lose(Loss::kTooLarge);
  }
  const uint64_t words = wire::kMarkHeadWords + (json_bytes + sizeof(Word) - 1) / sizeof(Word);
  ThreadRing* const ring = ring_for(name, words);
  if (ring == nullptr) return;
  put_head(*ring, RecordKind::kMark, words, name);
  ring->writer.put(2, json_bytes);
  for (uint64_t i = wire::kMarkHeadWords, at = 0; i < words; i++, at += sizeof(Word)) {
    Word word = 0;
    __builtin_memcpy(&word, json + at, json_bytes - at < sizeof(Word) ? json_bytes - at : sizeof(Word));
    ring->writer.put(i, word);
  }
  ring->writer.publish(words);
}

void counter(uint32_t name, double value) {
  const Inside inside;
  if (!inside.may_write()) return;
  ThreadRing* const ring = ring_for(name, wire::kCounterWords);
  if (ring == nullptr) return;
  put_head(*ring, RecordKind::kCounter, wire::kCounterWords, name);
  ring->writer.put(2, std::bit_cast<Word>(value));
  ring->writer.publish(wire::kCounterWords);
}

void name_thread(const char* text, size_t text_bytes) {
  if (is_inside) return;
  const Inside inside;
  Loss why = Loss::kNoRing;
  ThreadRing* const ring = thread_ring != nullptr ? thread_ring : acquire_ring(why);
  if (ring != nullptr) rename_thread(*ring, {text, text_bytes});
}

void refuse_reused() {
  const Inside inside;
  if (!inside.may_write()) return;
  start_process();
  lose(Loss::kScopeReused);
}

constexpr neurolens_api kApi{NEUROLENS_API_VERSION, name, begin,   end,         begin_on_lane,
                             end_on_lane,           mark, counter, name_thread, refuse_reused};

}  // namespace
}  // namespace nl::collect

extern "C" __attribute__((visibility("default"))) const neurolens_api* neurolens_collect(uint32_t version) {
  if (version != NEUROLENS_API_VERSION) return nullptr;
  return nl::collect::start_process() || nl::collect::has_session() ? &nl::collect::kApi : nullptr;
}
