#pragma once
// The part of CUPTI's binary interface that the collector uses: its functions, and those members of its
// records that are read. Their offsets have not changed since CUDA 11.8, because newer records only grow at
// the end; layout_check.cpp verifies this against the headers of three versions. They are declared here and
// not taken from NVIDIA's headers, so that every build contains the collector and one reader serves every
// version.

#include <cstddef>
#include <cstdint>

namespace nl::cupti {

// ---- Results

using Status = int;
inline constexpr Status kSuccess = 0, kMaxLimitReached = 12, kNotInitialized = 15,
                        kInsufficientPrivileges = 35, kMultipleSubscribers = 39, kUnknownError = 999;

inline constexpr uint32_t kOldestVersion = 18;  ///< as cuptiGetVersion counts: CUDA 11.8

// ---- Records

enum class Kind : uint32_t {
  kMemcpy = 1,
  kMemset = 2,
  kKernel = 3,
  kDriver = 4,
  kRuntime = 5,
  kDevice = 8,
  kConcurrentKernel = 10,
  kOverhead = 17,
  kMemcpyBetweenDevices = 22,
  kSynchronization = 38
};

struct Kernel {
  Kind kind;
  uint16_t flags;
  uint16_t registers;
  uint64_t partitioned_cache;
  uint64_t start;
  uint64_t end;
  uint64_t completed;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t static_shared_memory;
  uint32_t dynamic_shared_memory;
  uint32_t local_memory[2];
  uint32_t correlation;
  int64_t grid_id;
  const char* name;
  void* reserved;
  uint64_t queued;
  uint64_t submitted;
  uint8_t launch_type;
  uint8_t shared_memory_requested[7];
  uint64_t graph_node;
  uint32_t shared_memory_executed;
  uint32_t graph;
};

struct Memcpy {
  Kind kind;
  uint8_t copy_kind;
  uint8_t from_kind;
  uint8_t to_kind;
  uint8_t flags;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t correlation;
  uint32_t runtime_correlation;
  uint32_t pad;
  void* reserved;
  uint64_t graph_node;
  uint32_t graph;
};

struct MemcpyBetweenDevices {
  Kind kind;
  uint8_t copy_kind;
  uint8_t from_kind;
  uint8_t to_kind;
  uint8_t flags;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t from_device;
  uint32_t from_context;
  uint32_t to_device;
  uint32_t to_context;
  uint32_t correlation;
  void* reserved;
  uint64_t graph_node;
  uint32_t graph;
};

struct Memset {
  Kind kind;
  uint32_t value;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t correlation;
  uint16_t flags;
  uint16_t memory_kind;
  uint32_t pad;
  void* reserved;
  uint64_t graph_node;
  uint32_t graph;
};

struct Synchronization {
  Kind kind;
  uint32_t type;
  uint64_t start;
  uint64_t end;
  uint32_t correlation;
  uint32_t context;
  uint32_t stream;
  uint32_t event;
};

struct Call {
  Kind kind;
  uint32_t callback;
  uint64_t start;
  uint64_t end;
  uint32_t process;
  uint32_t thread;
  uint32_t correlation;
  uint32_t return_value;
};

struct Overhead {
  Kind kind;
  uint32_t overhead_kind;
  uint32_t object_kind;
  uint32_t object[3];  ///< of a thread: process, thread
  uint64_t start;
  uint64_t end;
};
inline constexpr uint32_t kThreadObject = 2;

struct Device {
  Kind kind;
  uint32_t flags;
  uint64_t global_memory_bandwidth;
  uint64_t global_memory_size;
  uint32_t before_multiprocessors[5];
  uint32_t multiprocessors;
  uint32_t before_capability[14];
  uint32_t compute_major;
  uint32_t compute_minor;
  uint32_t number;
  uint32_t before_name[5];
  const char* name;
};

// ---- Functions, by their names

using Context = void*;
using BufferRequested = void (*)(uint8_t** buffer, size_t* bytes, size_t* max_records);
using BufferCompleted = void (*)(Context context, uint32_t stream, uint8_t* buffer, size_t bytes,
                                 size_t valid);
using Callback = void (*)(void* user, uint32_t domain, uint32_t id, const void* data);
using Timestamp = uint64_t (*)();
inline constexpr uint32_t kDriverDomain = 1, kRuntimeDomain = 2;
inline constexpr uint32_t kSystemThreadIds = 1;
inline constexpr uint32_t kForcedFlush = 1;

struct Functions {
  Status (*cuptiGetVersion)(uint32_t* version);
  Status (*cuptiSubscribe)(void** subscriber, Callback callback, void* user);
  Status (*cuptiUnsubscribe)(void* subscriber);
  Status (*cuptiActivityRegisterCallbacks)(BufferRequested requested, BufferCompleted completed);
  Status (*cuptiActivityEnable)(Kind kind);
  Status (*cuptiActivityFlushAll)(uint32_t flag);
  Status (*cuptiActivityGetNextRecord)(uint8_t* buffer, size_t valid_bytes, void** record);
  Status (*cuptiActivityGetNumDroppedRecords)(Context context, uint32_t stream, size_t* dropped);
  Status (*cuptiGetTimestamp)(uint64_t* time);
  Status (*cuptiGetCallbackName)(uint32_t domain, uint32_t id, const char** name);
  // These may be missing.
  Status (*cuptiActivityRegisterTimestampCallback)(Timestamp timestamp);
  Status (*cuptiActivityFlushPeriod)(uint32_t milliseconds);
  Status (*cuptiSetThreadIdType)(uint32_t type);
};

}  // namespace nl::cupti
