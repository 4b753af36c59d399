#include "capture/record/ring_chunks.h"

#include <algorithm>

namespace nl::capture {
namespace {

using wire::Word;

constexpr uint64_t kPieceWords = 64 << 10;
static_assert(kPieceWords * sizeof(Word) <= wire::kMaxChunkBytes);
static_assert(kPieceWords >= wire::kMaxRecordWords);

/// Records of one thread, until another one begins.
class ChunkMaker {
 public:
  ChunkMaker(LiveRing& ring, uint32_t process, uint32_t number, const AddChunk& add)
      : ring_(ring), process_(process), number_(number), add_(add) {}

  /// The words that were used; 0 if they begin with no record.
  uint64_t take(const std::vector<Word>& words) {
    uint64_t at = 0;
    while (at < words.size()) {
      const uint64_t size = wire::words_of(words[at]);
      if (size < wire::kScopeWords || size > wire::kMaxRecordWords) break;
      if (size > words.size() - at) break;  // goes on in the next piece
      if (wire::kind_of(words[at]) == static_cast<uint8_t>(wire::RecordKind::kThread) &&
          size == wire::kThreadWords) {
        finish(words, at);
        start_thread(&words[at]);
        start_ = at + size;
        is_new_thread_ = true;
      } else if (wire::kind_of(words[at]) != static_cast<uint8_t>(wire::RecordKind::kGpuClock)) {
        records_++;
      }
      at += size;
    }
    finish(words, at);
    return at;
  }

 private:
  void start_thread(const Word* record) {
    ring_.thread = record[2];
    ring_.thread_id = record[3];
    std::memcpy(ring_.thread_name, record + 4, sizeof ring_.thread_name);
  }

  void finish(const std::vector<Word>& words, uint64_t end) {
    if (end == start_ && !is_new_thread_) return;
    wire::ChunkHeader header{.kind = wire::ChunkKind::kRecords,
                             .records = records_,
                             .process = process_,
                             .ring = number_,
                             .position = ring_.reader.tail() + end,
                             .thread = ring_.thread,
                             .thread_id = ring_.thread_id};
    std::memcpy(header.thread_name, ring_.thread_name, sizeof header.thread_name);
    add_(header, {reinterpret_cast<const char*>(words.data() + start_), (end - start_) * sizeof(Word)});
    start_ = end;
    records_ = 0;
    is_new_thread_ = false;
  }

  LiveRing& ring_;
  uint32_t process_;
  uint32_t number_;
  const AddChunk& add_;
  uint64_t start_ = 0;
  uint32_t records_ = 0;
  bool is_new_thread_ = false;
};

}  // namespace

bool take_chunks(LiveRing& ring, uint32_t process, uint32_t number, uint64_t head, const AddChunk& add) {
  const uint64_t there = head - ring.reader.tail();
  if (ring.is_damaged || there == 0) return false;
  std::vector<Word> words;
  if (ring.reader.is_sound(head)) {
    words.resize(std::min(there, kPieceWords));
    ring.reader.copy(ring.reader.tail(), words.size(), words.data());
  }
  const uint64_t used = ChunkMaker(ring, process, number, add).take(words);
  if (used == 0) {
    ring.is_damaged = true;
    return false;
  }
  ring.reader.take(ring.reader.tail() + used);
  return true;
}

}  // namespace nl::capture
