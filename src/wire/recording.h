#pragma once
// recording.nlr and samples.nlr: a file header followed by chunks. Each chunk has a header and a payload with
// separate checksums, so a reader can tell how much of a file is valid. Little endian, all sizes multiples of
// 8. A chunk says which process and thread its records belong to, and it never depends on a later chunk.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "wire/checksum.h"
#include "wire/record.h"

namespace nl::wire {

inline constexpr char kRecordingMagic[8] = {'N', 'L', 'R', 'E', 'C', 'O', 'R', 'D'};
inline constexpr uint32_t kRecordingVersion = 1;
inline constexpr uint32_t kChunkMagic = 0x4B434C4E;  // "NLCK"
inline constexpr uint32_t kNoProcess = ~0u;          ///< losses that are of none
inline constexpr size_t kMaxChunkBytes = 1 << 20;    ///< of a payload

inline constexpr size_t kBootIdBytes = 40;

struct FileHeader {
  char magic[8];
  uint32_t version;
  uint32_t bytes;              ///< of this header; the chunks follow
  char boot_id[kBootIdBytes];  ///< of the system whose CLOCK_MONOTONIC the times are of, filled up with 0
};

enum class ChunkKind : uint32_t {
  kProcess = 1,  ///< ProcessFacts, then the texts
  kNames = 2,    ///< NameHead and text, name by name
  kRecords = 3,  ///< markers of one thread
  kLosses = 4,   ///< of one process, or kNoProcess, so far: a count for each Loss; the last chunk counts
  kEnd = 5,      ///< EndFacts; without it the recorder was killed
  // Samples of stacks, in a file of their own whose first chunk is kSampling.
  kSampling = 6,        ///< SamplingFacts so far; the last chunk counts
  kModules = 7,         ///< ModuleHead and texts, module by module
  kFrames = 8,          ///< Frame after Frame
  kStacks = 9,          ///< StackHead and numbers of frames, innermost first, filled up with 0
  kSamples = 10,        ///< Sample after Sample, of one thread as with kRecords
  kFrameNames = 11,     ///< FrameNameHead and text; may stand before the frame
  kPythonSamples = 12,  ///< the same as kSamples, of Python functions
  kWaits = 13,          ///< Wait after Wait, of one thread
  kNotice = 32          ///< a line of one process for the person who records, filled up with 0
};

struct ChunkHeader {
  uint32_t magic = kChunkMagic;
  ChunkKind kind = ChunkKind::kEnd;
  uint32_t bytes = 0;    ///< of the payload
  uint32_t records = 0;  ///< markers or samples in the payload
  uint32_t process = 0;  ///< number in this file
  uint32_t ring = 0;     ///< kRecords: where they were drained from, and up to which position
  uint64_t position = 0;
  uint64_t thread = 0;  ///< kRecords: number of the thread in its process, never used twice
  uint64_t thread_id = 0;
  char thread_name[kThreadNameBytes] = {};
  uint64_t payload_checksum = 0;
  uint64_t header_checksum = 0;  ///< of the bytes before
};
static_assert(sizeof(ChunkHeader) == 96);

struct ProcessFacts {
  uint64_t process_id;
  int64_t monotonic_ns;
  int64_t unix_ns;
  int64_t bound_ns;
  uint32_t program_bytes;  ///< text: name of the program
  uint32_t key_bytes;      ///< text: folder of its rings while they are there
};

struct NameHead {
  uint32_t name;
  uint16_t domain_bytes;  ///< text: the domain, then the name, filled up with 0
  uint16_t name_bytes;
};

struct EndFacts {
  uint64_t records;  ///< in all chunks before
};

struct SamplingFacts {
  uint64_t frequency_hz;
  uint64_t period_ns;
  uint32_t with_kernel;  ///< 0: what ran inside of the kernel was not sampled
  uint32_t processors;
  uint64_t throttled;  ///< how often the kernel held the samples back
  uint64_t torn;       ///< stacks of Python that changed while they were read
};

/// A file that code was mapped from, or in brackets what was none: [kernel], [vdso], [jit], [unknown], ...
struct ModuleHead {
  uint32_t module;
  uint32_t process_id;  ///< [jit]: whose
  uint16_t path_bytes;  ///< text: the path, then the build id in binary, filled up with 0
  uint16_t build_id_bytes;
  uint32_t unused;
};

struct Frame {
  uint32_t frame;
  uint32_t module;
  uint64_t address;  ///< as the file's own symbols count, if it could be read; else an offset in it
};

struct StackHead {
  uint32_t stack;
  uint32_t depth;
};

struct Sample {
  uint64_t time_ns;  ///< of CLOCK_MONOTONIC
  uint32_t stack;
  uint32_t weight_ns;  ///< of processor time, that it stands for
};

/// A thread did not run.
struct Wait {
  uint64_t time_ns;
  uint64_t duration_ns;
  uint32_t is_preempted;  ///< 1: it could have gone on; 0: it waited for something
  uint32_t unused;
};

struct FrameNameHead {
  uint32_t frame;
  uint32_t name_bytes;
};

inline constexpr uint32_t kMaxModules = 64 << 10;  ///< numbers are below
inline constexpr uint32_t kMaxFrames = 1 << 20;
inline constexpr uint32_t kMaxStacks = 1 << 20;
inline constexpr uint32_t kMaxStackDepth = 1024;
inline constexpr size_t kMaxStackFrames = 16 << 20;  ///< of all stacks together

/// A fuzzer cannot guess checksums: its harness sets this to false before it starts, so that it reaches what
/// lies behind them. Nobody else writes it.
inline bool checks_sums = true;

constexpr size_t padded(size_t bytes) {
  return (bytes + 7) & ~size_t{7};
}

inline uint64_t header_checksum(const ChunkHeader& header) {
  return checksum({reinterpret_cast<const char*>(&header), offsetof(ChunkHeader, header_checksum)});
}
inline bool is_sound(const ChunkHeader& header) {
  return header.magic == kChunkMagic && header.bytes <= kMaxChunkBytes && header.bytes % 8 == 0 &&
         (!checks_sums || header.header_checksum == header_checksum(header));
}
inline bool is_sound(const ChunkHeader& header, std::string_view payload) {
  return payload.size() == header.bytes && (!checks_sums || header.payload_checksum == checksum(payload));
}

template <class T>
void append_bytes(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

inline void append_file_header(std::string& out, std::string_view boot_id) {
  FileHeader header{{}, kRecordingVersion, sizeof(FileHeader), {}};
  std::memcpy(header.magic, kRecordingMagic, sizeof header.magic);
  std::memcpy(header.boot_id, boot_id.data(), std::min(boot_id.size(), kBootIdBytes));
  append_bytes(out, header);
}

/// `payload` has a multiple of 8 bytes, at most kMaxChunkBytes.
inline void append_chunk(std::string& out, ChunkHeader header, std::string_view payload) {
  header.bytes = static_cast<uint32_t>(payload.size());
  header.payload_checksum = checksum(payload);
  header.header_checksum = header_checksum(header);
  append_bytes(out, header);
  out += payload;
}

inline void append_name(std::string& payload, uint32_t name, std::string_view domain, std::string_view text) {
  append_bytes(payload,
               NameHead{name, static_cast<uint16_t>(domain.size()), static_cast<uint16_t>(text.size())});
  payload.append(domain).append(text);
  payload.resize(padded(payload.size()));
}

}  // namespace nl::wire
