#include "collect/markers.h"

#include <time.h>

#include "collect/process.h"

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
__attribute__((noinline, cold)) bool wait_for_room(ThreadRing& ring, uint64_t words, int64_t wait_ns) {
  const int64_t end = wire::clock_ns(CLOCK_MONOTONIC) + (ring.gave_up ? 0 : wait_ns);
  while (wire::clock_ns(CLOCK_MONOTONIC) < end) {
    const timespec pause{0, 50'000};
    nanosleep(&pause, nullptr);
    if (ring.writer.has_room(words)) return true;
  }
  ring.gave_up = true;
  return false;
}

/// False, and the loss counted, if the ring is full. Room for the ends of open scopes is never taken.
bool has_room(ThreadRing& ring, uint64_t words) {
  if (__builtin_expect(!ring.writer.has_room(words + ring.open_words), 0) &&
      !wait_for_room(ring, words + ring.open_words, settings().wait_ns)) {
    ring.writer.lose(Loss::kRingFull);
    return false;
  }
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

// ---- Text behind a record: its bytes, then itself, filled up with 0

bool is_small_enough(size_t bytes) {
  if (bytes <= wire::kMaxAttributeBytes) return true;
  start_process();
  lose(Loss::kTooLarge);
  return false;
}
constexpr uint64_t text_words(size_t bytes) {
  return 1 + (bytes + sizeof(Word) - 1) / sizeof(Word);
}
void put_text(ThreadRing& ring, uint64_t at, const char* text, size_t bytes) {
  ring.writer.put(at, bytes);
  for (size_t done = 0; done < bytes; done += sizeof(Word)) {
    Word word = 0;
    __builtin_memcpy(&word, text + done, bytes - done < sizeof(Word) ? bytes - done : sizeof(Word));
    ring.writer.put(++at, word);
  }
}

// ---- Scopes

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

/// With or without attributes behind the fixed words, which are all that its end has. nullptr if it was lost.
ThreadRing* put_begin(RecordKind kind, uint32_t fixed_words, uint32_t name, uint64_t lane, const char* json,
                      size_t json_bytes) {
  if (!is_small_enough(json_bytes)) return nullptr;
  const uint64_t words = fixed_words + (json_bytes > 0 ? text_words(json_bytes) : 0);
  ThreadRing* const ring = ring_for(name, words + fixed_words);
  if (ring == nullptr) return nullptr;
  put_head(*ring, kind, words, name);
  if (fixed_words > wire::kScopeWords) ring->writer.put(wire::kScopeWords, lane);
  if (json_bytes > 0) put_text(*ring, fixed_words, json, json_bytes);
  ring->writer.publish(words);
  ring->open_words += fixed_words;
  return ring;
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

// ---- Scopes that end without a token

/// The scopes of the domain that are open on the thread.
int level_of(const ThreadRing& ring, uint32_t domain) {
  int level = 0;
  for (uint32_t i = 0; i < ring.open_count; i++) level += ring.open[i].domain == domain ? 1 : 0;
  return level;
}

void end_pushed(ThreadRing& ring, uint32_t name) {
  if (name == 0) return ring.writer.lose(Loss::kBeginLost);
  put_head(ring, RecordKind::kEnd, wire::kScopeWords, name);
  ring.writer.publish(wire::kScopeWords);
  ring.open_words -= wire::kScopeWords;
}

/// The ring of the thread, which may be full; the loss is counted if there is none.
ThreadRing* any_ring() {
  Loss why = Loss::kNoRing;
  ThreadRing* const ring = thread_ring != nullptr ? thread_ring : acquire_ring(why);
  if (ring == nullptr) lose(why);
  return ring;
}

constinit std::atomic<uint64_t> last_range{0};

}  // namespace

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

uint64_t begin_with(uint32_t name, uint64_t lane, const char* json, size_t json_bytes) {
  const Inside inside;
  if (!inside.may_write()) return 0;
  const ThreadRing* const ring =
      lane == 0 ? put_begin(RecordKind::kBegin, wire::kScopeWords, name, lane, json, json_bytes)
                : put_begin(RecordKind::kLaneBegin, wire::kLaneWords, name, lane, json, json_bytes);
  return ring != nullptr ? ring->token : 0;
}

void mark(uint32_t name, const char* json, size_t json_bytes) {
  const Inside inside;
  if (!inside.may_write() || !is_small_enough(json_bytes)) return;
  const uint64_t words = wire::kScopeWords + text_words(json_bytes);
  ThreadRing* const ring = ring_for(name, words);
  if (ring == nullptr) return;
  put_head(*ring, RecordKind::kMark, words, name);
  put_text(*ring, wire::kScopeWords, json, json_bytes);
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

int push(uint32_t domain, uint32_t name, const char* json, size_t json_bytes) {
  const Inside inside;
  ThreadRing* const ring = inside.may_write() ? any_ring() : nullptr;
  if (ring == nullptr) return -1;
  if (ring->open_count == kMaxPushed) {
    ring->too_deep++;
    ring->writer.lose(Loss::kTooDeep);
    return -1;
  }
  const int level = level_of(*ring, domain);
  const bool is_recorded =
      put_begin(RecordKind::kBegin, wire::kScopeWords, name, 0, json, json_bytes) != nullptr;
  ring->open[ring->open_count++] = {domain, is_recorded ? name : 0};
  return level;
}

int pop(uint32_t domain) {
  const Inside inside;
  ThreadRing* const ring = inside.may_write() ? any_ring() : nullptr;
  if (ring == nullptr) return -1;
  if (ring->too_deep > 0) {
    ring->too_deep--;
    ring->writer.lose(Loss::kTooDeep);
    return -1;
  }
  uint32_t at = ring->open_count;
  while (at > 0 && ring->open[at - 1].domain != domain) at--;
  if (at == 0) {
    ring->writer.lose(Loss::kBeginLost);
    return -1;
  }
  end_pushed(*ring, ring->open[at - 1].name);
  for (; at < ring->open_count; at++) ring->open[at - 1] = ring->open[at];
  ring->open_count--;
  return level_of(*ring, domain);
}

uint64_t start_range(uint32_t name, const char* json, size_t json_bytes) {
  const Inside inside;
  if (!inside.may_write() || !is_small_enough(json_bytes)) return 0;
  const uint64_t words = wire::kLaneWords + (json_bytes > 0 ? text_words(json_bytes) : 0);
  ThreadRing* const ring = ring_for(name, words);
  if (ring == nullptr) return 0;
  const uint64_t range = last_range.fetch_add(1, std::memory_order_relaxed) + 1;
  put_head(*ring, RecordKind::kRangeStart, words, name);
  ring->writer.put(2, range);
  if (json_bytes > 0) put_text(*ring, wire::kLaneWords, json, json_bytes);
  ring->writer.publish(words);
  return range;
}

void end_range(uint64_t range) {
  const Inside inside;
  ThreadRing* const ring = inside.may_write() ? any_ring() : nullptr;
  if (ring == nullptr) return;
  if (range == 0) return ring->writer.lose(Loss::kBeginLost);
  if (!has_room(*ring, wire::kLaneWords)) return;
  put_head(*ring, RecordKind::kRangeEnd, wire::kLaneWords, 0);
  ring->writer.put(2, range);
  ring->writer.publish(wire::kLaneWords);
}

void name_thread_of(uint64_t thread_id, uint32_t name) {
  const Inside inside;
  if (!inside.may_write()) return;
  ThreadRing* const ring = ring_for(name, wire::kLaneWords);
  if (ring == nullptr) return;
  put_head(*ring, RecordKind::kThreadName, wire::kLaneWords, name);
  ring->writer.put(2, thread_id);
  ring->writer.publish(wire::kLaneWords);
}

bool put_record(ThreadRing& ring, const wire::Word* words, uint64_t count, int64_t wait_ns) {
  if (!ring.writer.has_room(count) && !wait_for_room(ring, count, wait_ns)) return false;
  ring.gave_up = false;
  for (uint64_t i = 0; i < count; i++) ring.writer.put(i, words[i]);
  ring.writer.publish(count);
  return true;
}

void refuse_unsupported() {
  const Inside inside;
  if (!inside.may_write()) return;
  start_process();
  lose(Loss::kUnsupported);
}

}  // namespace nl::collect
