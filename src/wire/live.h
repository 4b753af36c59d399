#pragma once
// The files of a recording in progress, which the workload's processes and the recorder map into memory:
//
//   <folder>/session             one file: the memory limit that all rings share
//   <folder>/<process>/process   a process's description, its names, and its losses outside of rings
//   <folder>/<process>/ring-<n>  see wire/ring.h
//
// A process holds a lock (flock) on its file as long as it lives. All of these files are written by one
// version on one machine, so their layout may change with kLiveVersion. What is kept in the end is a
// recording (wire/recording.h), whose layout is stable.

#include <atomic>
#include <cstdint>

#include "wire/clock_pair.h"
#include "wire/record.h"

namespace nl::wire {

inline constexpr uint32_t kLiveVersion = 2;
inline constexpr uint64_t kSessionMagic = 0x31534553534C4E00 + kLiveVersion;
inline constexpr uint64_t kProcessMagic = 0x31434F52504C4E00 + kLiveVersion;

inline constexpr const char* kCollectVariable = "NEUROLENS_COLLECT";  ///< path of the library
inline constexpr const char* kFolderVariable =
    "NEUROLENS_RECORDING";  ///< the folder of session, from the root
inline constexpr const char* kWhenFullVariable = "NEUROLENS_WHEN_FULL";    ///< drop, or wait
inline constexpr const char* kWaitVariable = "NEUROLENS_WAIT_MS";          ///< the longest wait
inline constexpr const char* kRingBytesVariable = "NEUROLENS_RING_BYTES";  ///< of a thread; a power of two

inline constexpr const char* kNvtxVariable =
    "NVTX_INJECTION64_PATH";  ///< of NVTX: the library that its ranges go to

inline constexpr const char* kCudaVariable =
    "CUDA_INJECTION64_PATH";  ///< of the CUDA driver: the library that it loads and starts

inline constexpr uint64_t kDefaultRingBytes = 1 << 20;
inline constexpr uint64_t kDefaultTotalBytes = 256 << 20;
inline constexpr uint32_t kMaxRings = 4096;  ///< of a process

struct SessionHeader {
  uint64_t magic;
  uint64_t total_bytes;              ///< all files of all processes together
  std::atomic<uint64_t> used_bytes;  ///< taken before a file is made, given back when it is gone
  /// Of processes that got no file of their own, and what the recorder itself could not keep.
  std::atomic<uint64_t> lost[kLossCount];
};

/// Followed by NameTable.
struct ProcessHeader {
  std::atomic<uint64_t> magic;  ///< stored last
  uint64_t process_id;
  ClockPair clock;
  char program[64];                    ///< its name, filled up with 0
  std::atomic<uint32_t> rings;         ///< ring-0 to ring-<rings - 1> are ready
  std::atomic<uint32_t> notice_bytes;  ///< stored last
  char notice[256];                    ///< a line for the person who records
  std::atomic<uint64_t> lost[kLossCount];
};
inline constexpr size_t kNameTableOffset = 4096;
static_assert(sizeof(ProcessHeader) <= kNameTableOffset);

/// Names of scopes, marks and counters, found by a hash. One thread adds at a time; any may look.
struct NameTable {
  static constexpr uint32_t kSlots = 2 * kMaxNames;
  static constexpr uint32_t kTextBytes = 1 << 20;
  struct Entry {
    uint32_t offset;  ///< in text: the domain, then the name
    uint16_t domain_bytes;
    uint16_t name_bytes;
  };
  std::atomic<uint32_t> count;  ///< ids 1 to count are there
  uint32_t text_used;
  std::atomic<uint32_t> slots[kSlots];  ///< ids, by hash
  Entry entries[kMaxNames];
  char text[kTextBytes];
};
inline constexpr size_t kProcessFileBytes = kNameTableOffset + sizeof(NameTable);

}  // namespace nl::wire
