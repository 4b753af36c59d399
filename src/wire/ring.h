#pragma once
// A ring of words in memory shared by two processes: one thread writes, one reads, and neither takes a lock.
// Positions only grow; the word at position p is stored at p modulo the capacity. Published words survive the
// death of the writer, and words that the reader has not released are never overwritten.

#include <atomic>
#include <cstdint>
#include <cstring>

#include "wire/record.h"

namespace nl::wire {

inline constexpr uint64_t kRingMagic = 0x31474E49524C4E00;  // "\0NLRING1"
inline constexpr size_t kRingDataOffset = 4096;
inline constexpr size_t kMinRingBytes = 16 << 10;
inline constexpr size_t kMaxRingBytes = 1 << 30;

/// The first page of a ring's file; the words follow at kRingDataOffset.
struct RingHeader {
  std::atomic<uint64_t> magic;  ///< stored last, when the rest is ready
  uint64_t capacity_words;      ///< a power of two
  alignas(64) std::atomic<uint64_t> head;
  std::atomic<uint64_t> lost[kLossCount];
  alignas(64) std::atomic<uint64_t> tail;
};
static_assert(sizeof(RingHeader) <= kRingDataOffset);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

constexpr bool is_ring_capacity(uint64_t words) {
  return std::has_single_bit(words) && words >= kMinRingBytes / sizeof(Word) &&
         words <= kMaxRingBytes / sizeof(Word);
}

/// The writing end; belongs to one thread at a time.
class RingWriter {
 public:
  void attach(RingHeader* header, Word* words) {
    header_ = header;
    words_ = words;
    capacity_ = header->capacity_words;
    head_ = header->head.load(std::memory_order_relaxed);
    tail_seen_ = header->tail.load(std::memory_order_acquire);
  }
  bool has_room(uint64_t words) {
    if (head_ + words - tail_seen_ <= capacity_) return true;
    tail_seen_ = header_->tail.load(std::memory_order_acquire);
    return head_ + words - tail_seen_ <= capacity_;
  }
  /// Behind the words published so far; there must be room.
  void put(uint64_t offset, Word word) { words_[(head_ + offset) & (capacity_ - 1)] = word; }
  void publish(uint64_t words) {
    head_ += words;
    header_->head.store(head_, std::memory_order_release);
  }
  void lose(Loss reason, uint64_t records = 1) {
    header_->lost[static_cast<size_t>(reason)].fetch_add(records, std::memory_order_relaxed);
  }

 private:
  RingHeader* header_ = nullptr;
  Word* words_ = nullptr;
  uint64_t capacity_ = 0;
  uint64_t head_ = 0;
  uint64_t tail_seen_ = 0;
};

/// The reading end; one thread. It believes nothing that the other side could have overwritten by mistake.
class RingReader {
 public:
  RingReader(RingHeader* header, const Word* words, uint64_t capacity_words)
      : header_(header),
        words_(words),
        capacity_(capacity_words),
        tail_(header->tail.load(std::memory_order_relaxed)) {}

  uint64_t tail() const { return tail_; }
  uint64_t head() const { return header_->head.load(std::memory_order_acquire); }
  /// False if the positions cannot be: then nothing of the ring can be read.
  bool is_sound(uint64_t head) const { return head - tail_ <= capacity_; }
  /// Copies words that were published.
  void copy(uint64_t position, uint64_t count, Word* out) const {
    if (count == 0) return;
    const uint64_t at = position & (capacity_ - 1);
    const uint64_t first = count < capacity_ - at ? count : capacity_ - at;
    std::memcpy(out, words_ + at, first * sizeof(Word));
    std::memcpy(out + first, words_, (count - first) * sizeof(Word));
  }
  /// What lies before is taken; the writer is not told yet.
  void take(uint64_t position) { tail_ = position; }
  /// Lets the writer have the room of all that was taken.
  void release() { header_->tail.store(tail_, std::memory_order_release); }
  uint64_t lost(size_t reason) const { return header_->lost[reason].load(std::memory_order_relaxed); }

 private:
  RingHeader* header_;
  const Word* words_;
  uint64_t capacity_;
  uint64_t tail_;
};

}  // namespace nl::wire
