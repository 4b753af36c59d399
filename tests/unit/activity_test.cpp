// Buffers of CUPTI, sound and not, through the collector in a child process into a recording: every record
// that the buffer gives is in the recording or said to be lost.

#include "cupti/activity.h"

#include <random>

#include "capture/record/recorder.h"
#include "recorded.h"

namespace nl::cupti {
namespace {

constexpr size_t kStep = 208;
Shared* counted = nullptr;  // of the child

/// Sometimes fails in the middle, as it does in a buffer that was written over.
Status next_record(uint8_t* buffer, size_t valid_bytes, void** record) {
  uint8_t* const next = *record == nullptr ? buffer : static_cast<uint8_t*>(*record) + kStep;
  if (next + kStep > buffer + valid_bytes) return kMaxLimitReached;
  counted->emitted++;
  if (*reinterpret_cast<const uint32_t*>(next) == 0xFFFFFFFF) return 21;
  *record = next;
  return kSuccess;
}
Status callback_name(uint32_t, uint32_t id, const char** name) {
  static char text[16];
  snprintf(text, sizeof text, "call%u", id % 100);
  *name = text;
  return id % 10 == 0 ? 1 : kSuccess;
}
Status clock_of(uint64_t* time) {
  *time = static_cast<uint64_t>(wire::clock_ns(CLOCK_MONOTONIC));
  return kSuccess;
}

/// Any bytes, but for the kind and for where a name is: CUPTI gives pointers that can be read.
void fill(std::mt19937_64& random, std::vector<uint8_t>& buffer, const std::vector<std::string>& names) {
  static constexpr uint32_t kKinds[] = {1, 2, 3, 4, 5, 8, 10, 17, 22, 38, 51, 0xFFFFFFFF};
  for (uint8_t& byte : buffer) byte = static_cast<uint8_t>(random());
  for (size_t at = 0; at + kStep <= buffer.size(); at += kStep) {
    const uint32_t kind = kKinds[random() % (random() % 50 == 0 ? 12 : 11)];
    const char* const name = names[random() % names.size()].c_str();
    std::memcpy(&buffer[at], &kind, sizeof kind);
    std::memcpy(&buffer[at + (kind == 8 ? offsetof(Device, name) : offsetof(Kernel, name))], &name,
                sizeof name);
  }
}

void write_buffers(int buffers) {
  static ActivityWriter writer;
  static Functions functions{};
  functions.cuptiActivityGetNextRecord = next_record;
  functions.cuptiGetCallbackName = callback_name;
  functions.cuptiGetTimestamp = clock_of;
  writer.start(functions, collect::make_ring_of("GPU"), false);
  std::mt19937_64 random(20);
  const std::vector<std::string> names = {"", "gemm", "_Z4gemmPKfS0_Pfi", std::string(20'000, 'x')};
  for (int i = 0; i < buffers; i++) {
    std::vector<uint8_t> buffer(kStep * (1 + random() % 64) + random() % kStep);
    fill(random, buffer, names);
    writer.write_clock();
    writer.write_buffer(buffer.data(), buffer.size());
  }
  writer.lose(wire::Loss::kGpuDropped, 5);
  counted->emitted += 5;
}

TEST(Activity, EveryRecordIsKeptOrCounted) {
  TestFolder folder;
  const SharedMemory shared;
  auto recorder = capture::Recorder::start({.folder = folder.path(), .library = "/none"}).value();
  const pid_t child = start_child([&] {
    counted = shared.operator->();
    start_collector(recorder->environment());
    write_buffers(300);
  });
  poll_while_running(*recorder, child);
  const auto end = recorder->finish().value();
  EXPECT_GT(end.recorded, 1000u);
  EXPECT_EQ(end.recorded + end.total_lost(), shared->emitted);
  EXPECT_EQ(end.lost[static_cast<size_t>(wire::Loss::kGpuDropped)], 5u);
  EXPECT_GT(end.lost[static_cast<size_t>(wire::Loss::kGpuBuffer)], 0u);
  const Imported imported(end.path);
  EXPECT_EQ(imported.error, "");
  EXPECT_TRUE(imported.info.counts.closes());
  EXPECT_EQ(imported.info.counts.seen, static_cast<int64_t>(shared->emitted));
}

}  // namespace
}  // namespace nl::cupti
