#pragma once
// Markers as words of 8 bytes, little endian. The collector writes them into a ring, the recorder copies them
// into a recording, and the adapter reads them. Header only, with nothing to link.
//
//   word 0   kind (8 bits) · 0 (8) · words of the record, this one included (16) · name (32)
//   word 1   time, ns of CLOCK_MONOTONIC
//   then     lane_begin, lane_end: the lane · counter: the bits of a double
//            mark: bytes of its attributes, then these, JSON text filled up with 0; begins may have them, too
//            range_start: the range, then maybe attributes · range_end: the range, no name
//            thread_name: the id of the thread
//            thread: its number in the process, its id, 32 bytes of its name filled up with 0

#include <bit>
#include <cstddef>
#include <cstdint>

namespace nl::wire {

static_assert(std::endian::native == std::endian::little);

using Word = uint64_t;

enum class RecordKind : uint8_t {
  kBegin = 1,      ///< a scope of the thread
  kEnd = 2,        ///< of the innermost open scope of that name
  kLaneBegin = 3,  ///< a scope of one of several activities that take turns on the thread, e.g. a task
  kLaneEnd = 4,
  kMark = 5,
  kCounter = 6,
  kThread = 7,  ///< what follows in the ring is of this thread; no marker itself, and never in a recording
  kRangeStart = 8,  ///< any thread of the process may end it
  kRangeEnd = 9,
  kThreadName = 10,  ///< the name is that of a thread
  // Work on a GPU (wire/gpu_record.h).
  kKernel = 16,
  kCopy = 17,
  kSync = 18,
  kCall = 19,
  kOverhead = 20,
  kDevice = 21,
  kGpuClock = 22,  ///< no record of a program, never counted as one
};

inline constexpr uint32_t kScopeWords = 2;
inline constexpr uint32_t kLaneWords = 3;
inline constexpr uint32_t kCounterWords = 3;
inline constexpr uint32_t kMarkHeadWords = 3;
inline constexpr size_t kThreadNameBytes = 32;
inline constexpr uint32_t kThreadWords = 4 + kThreadNameBytes / sizeof(Word);
inline constexpr size_t kMaxAttributeBytes = 32 << 10;
inline constexpr uint32_t kMaxRecordWords = kMarkHeadWords + kMaxAttributeBytes / sizeof(Word);

inline constexpr uint32_t kMaxNames = 16 << 10;          ///< ids are below; 0 is no name
inline constexpr size_t kMaxNameBytes = 1024;            ///< of a name and of a domain; longer ones are cut
inline constexpr size_t kMaxKernelNameBytes = 16 << 10;  ///< mangled: a part of one says nothing

constexpr Word record_head(RecordKind kind, uint32_t words, uint32_t name) {
  return static_cast<Word>(kind) | Word{words} << 16 | Word{name} << 32;
}
constexpr uint8_t kind_of(Word head) {
  return static_cast<uint8_t>(head);
}
constexpr uint32_t words_of(Word head) {
  return static_cast<uint32_t>(head >> 16 & 0xFFFF);
}
constexpr uint32_t name_of(Word head) {
  return static_cast<uint32_t>(head >> 32);
}

/// Why a marker or sample is not in the recording. Each call of the collector is a marker: recorded, or lost
/// for one of these reasons. The order is part of the format; new ones go to the end.
enum class Loss : uint8_t {
  kRingFull,       ///< the recorder did not keep up
  kNoRing,         ///< more threads than the limit of memory allows, or no disk for the ring
  kNamesFull,      ///< more names than the table holds
  kTooLarge,       ///< attributes beyond kMaxAttributeBytes
  kReentered,      ///< a signal handler marked while its thread did
  kBeginLost,      ///< the end of a scope whose begin was lost
  kForeignEnd,     ///< the end of a scope that another thread or process began
  kScopeReused,    ///< a scope object that was entered while it was open
  kDiskLimit,      ///< the recording is as large as it may become, or the disk is full
  kOverwritten,    ///< a flight recorder keeps only the last ones
  kDamaged,        ///< a ring that holds no records any more
  kSampleRing,     ///< samples: the kernel's ring was full
  kTooManyStacks,  ///< samples: more different stacks than the recorder keeps
  kUnsupported,    ///< a call of NVTX that recordings have no form for
  kTooDeep,        ///< more scopes pushed on a thread than are followed
  kGpuDropped,     ///< CUPTI had no buffer for it
  kGpuBuffer,      ///< the rest of a buffer of CUPTI that could not be read; counted once
  kCount,
};
inline constexpr size_t kLossCount = static_cast<size_t>(Loss::kCount);
inline constexpr const char* kLossNames[kLossCount] = {
    "ring_full",       "no_ring",      "names_full", "too_large",   "reentered",    "begin_lost",
    "foreign_end",     "scope_reused", "disk_limit", "overwritten", "damaged_ring", "sample_ring_full",
    "too_many_stacks", "unsupported",  "too_deep",   "gpu_dropped", "gpu_buffer"};

}  // namespace nl::wire
