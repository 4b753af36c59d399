#include "wire/ring.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "wire/checksum.h"

namespace nl::wire {
namespace {

/// A ring in plain memory, both ends at the same address, so that a sanitizer sees what they share.
struct Ring {
  explicit Ring(uint64_t capacity) : words(capacity) {
    header->capacity_words = capacity;
    writer.attach(header.get(), words.data());
  }
  RingReader reader() { return {header.get(), words.data(), words.size()}; }

  std::unique_ptr<RingHeader> header = std::make_unique<RingHeader>();
  std::vector<Word> words;
  RingWriter writer;
};

constexpr uint64_t kSmallRing = kMinRingBytes / sizeof(Word);

/// Records of 1 to 7 words: length and number in the first, the number in all others.
uint64_t length_of(uint64_t number) {
  return 1 + number % 7;
}

/// Writes `count` records, or loses them; the loss is known by the number that is missing.
uint64_t write_records(RingWriter& writer, uint64_t count) {
  uint64_t written = 0;
  for (uint64_t number = 0; number < count; number++) {
    const uint64_t length = length_of(number);
    if (!writer.has_room(length)) {
      writer.lose(Loss::kRingFull);
      std::this_thread::yield();
      continue;
    }
    for (uint64_t i = 0; i < length; i++) writer.put(i, number);
    writer.publish(length);
    written++;
  }
  return written;
}

/// Reads what is there; false if a record is not what was written or out of order.
bool read_records(RingReader& reader, uint64_t& next, uint64_t& count) {
  const uint64_t head = reader.head();
  if (!reader.is_sound(head)) return false;
  std::vector<Word> words(head - reader.tail());
  reader.copy(reader.tail(), words.size(), words.data());
  for (size_t at = 0; at < words.size(); count++) {
    const uint64_t number = words[at];
    if (number < next) return false;
    const uint64_t length = length_of(number);
    for (uint64_t i = 0; i < length; i++, at++) {
      if (at >= words.size() || words[at] != number) return false;
    }
    next = number + 1;
  }
  reader.take(head);
  reader.release();
  return true;
}

TEST(Ring, GivesEveryRecordOnceWhileBothEndsRun) {
  constexpr uint64_t kRecords = 1'000'000;
  Ring ring(kSmallRing);
  std::atomic<bool> has_ended{false};
  uint64_t written = 0;
  std::thread writer([&] {
    written = write_records(ring.writer, kRecords);
    has_ended.store(true, std::memory_order_release);
  });
  RingReader reader = ring.reader();
  uint64_t next = 0, count = 0;
  bool is_sound = true;
  while (is_sound && !has_ended.load(std::memory_order_acquire)) is_sound = read_records(reader, next, count);
  writer.join();
  ASSERT_TRUE(is_sound && read_records(reader, next, count)) << "behind record " << next;
  EXPECT_EQ(count, written);
  EXPECT_EQ(count + reader.lost(static_cast<size_t>(Loss::kRingFull)), kRecords);
  EXPECT_GT(count, kSmallRing) << "the ring was never used twice";
}

TEST(Ring, KeepsWhatIsNotReleased) {
  Ring ring(kSmallRing);
  RingReader reader = ring.reader();
  for (uint64_t i = 0; i < kSmallRing; i++) {
    ASSERT_TRUE(ring.writer.has_room(1));
    ring.writer.put(0, i);
    ring.writer.publish(1);
  }
  EXPECT_FALSE(ring.writer.has_room(1));
  reader.take(reader.head());
  EXPECT_FALSE(ring.writer.has_room(1)) << "taken is not released";
  reader.release();
  EXPECT_TRUE(ring.writer.has_room(kSmallRing));
  EXPECT_FALSE(ring.writer.has_room(kSmallRing + 1));
}

TEST(Ring, NoticesPositionsThatCannotBe) {
  Ring ring(kSmallRing);
  const RingReader reader = ring.reader();
  EXPECT_TRUE(reader.is_sound(kSmallRing));
  EXPECT_FALSE(reader.is_sound(kSmallRing + 1));
  ring.header->head.store(~uint64_t{0});
  EXPECT_FALSE(reader.is_sound(reader.head()));
}

TEST(Checksum, IsXxh64) {
  EXPECT_EQ(checksum(""), 0xEF46DB3751D8E999);
  EXPECT_EQ(checksum("abc"), 0x44BC2CF5AD770999);
  EXPECT_EQ(checksum("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1);
}

}  // namespace
}  // namespace nl::wire
