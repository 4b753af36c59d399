#pragma once
// ActivityWriter: turns CUPTI's activity records into records of a recording, and writes them into a ring of
// their own. One thread at a time.

#include "collect/process.h"
#include "cupti/abi.h"
#include "wire/gpu_record.h"

namespace nl::cupti {

class ActivityWriter {
 public:
  void start(const Functions& functions, collect::ThreadRing* ring, bool is_clock_ours) {
    functions_ = &functions;
    ring_ = ring;
    is_clock_ours_ = is_clock_ours;
  }
  /// What CUPTI's clock shows now; before the records that it holds for.
  void write_clock();
  /// Each record of the buffer is written, or lost for a reason.
  void write_buffer(uint8_t* buffer, size_t valid_bytes);
  void lose(wire::Loss reason, uint64_t records);

 private:
  static constexpr uint32_t kMaxCallbacks = 4096;
  static constexpr size_t kNameCache = 4096;

  /// By where CUPTI keeps the text, which may come to hold another one.
  struct KnownName {
    const char* text;
    uint32_t name;
  };

  void write(const void* record);
  void write_kernel(const Kernel& kernel);
  void write_copy(const Memcpy& copy);
  void write_copy(const MemcpyBetweenDevices& copy);
  void write_set(const Memset& set);
  void write_sync(const Synchronization& sync);
  void write_call(const Call& call);
  void write_overhead(const Overhead& overhead);
  void write_device(const Device& device);
  uint32_t kernel_name(const char* text);
  uint32_t call_name(uint32_t domain, uint32_t callback);
  template <class Record>
  bool put(const Record& record);
  template <class Record>
  void put_or_lose(const Record& record);

  const Functions* functions_ = nullptr;
  collect::ThreadRing* ring_ = nullptr;
  bool is_clock_ours_ = false;
  KnownName kernel_names_[kNameCache] = {};
  uint32_t call_names_[2][kMaxCallbacks] = {};
};

}  // namespace nl::cupti
