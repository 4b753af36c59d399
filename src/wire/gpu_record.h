#pragma once
// Records of GPU work, stored in the words of a ring and of a recording like markers (wire/record.h). Their
// times are on CUPTI's clock; the gpu_clock record before them relates it to CLOCK_MONOTONIC. Numbers are
// CUPTI's own, so nothing is lost before the adapter reads them.

#include <cstdint>

#include "wire/record.h"

namespace nl::wire {

/// Where on a device, and by which call: the correlation id of both is the same.
struct GpuPlace {
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t correlation;
};

/// Named as the linker knows the function.
struct KernelRecord {
  Word head;
  uint64_t start_ns;
  uint64_t end_ns;
  GpuPlace place;
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t static_shared_bytes;
  uint32_t dynamic_shared_bytes;
  uint64_t graph_node;  ///< 0: not of a graph
  uint32_t graph;
  uint16_t registers;
  uint16_t launch_type;
};

/// A copy, or a set if is_set.
struct CopyRecord {
  Word head;
  uint64_t start_ns;
  uint64_t end_ns;
  GpuPlace place;
  uint64_t bytes;
  uint64_t graph_node;
  uint32_t graph;
  uint8_t copy_kind;
  uint8_t from_kind;  ///< of memory; of a set the kind that was set
  uint8_t to_kind;
  uint8_t is_set;
  uint32_t value;  ///< that was set
  uint32_t is_between_devices;
  uint32_t from_device;
  uint32_t to_device;
};

struct SyncRecord {
  Word head;
  uint64_t start_ns;
  uint64_t end_ns;
  uint32_t type;
  uint32_t context;
  uint32_t stream;
  uint32_t correlation;
  uint32_t event;
  uint32_t unused;
};

/// A call of the runtime or of the driver; its name is CUPTI's.
struct CallRecord {
  Word head;
  uint64_t start_ns;
  uint64_t end_ns;
  uint32_t thread_id;
  uint32_t correlation;
  uint32_t return_value;
  uint32_t is_driver;
};

/// Time that CUPTI took, or that the driver took unasked.
struct OverheadRecord {
  Word head;
  uint64_t start_ns;
  uint64_t end_ns;
  uint32_t kind;
  uint32_t thread_id;  ///< 0: not of a thread
};

struct DeviceRecord {
  Word head;
  uint64_t time_ns;
  uint64_t memory_bytes;
  uint32_t device;
  uint32_t multiprocessors;
  uint32_t compute_major;
  uint32_t compute_minor;
};

struct GpuClockRecord {
  Word head;
  uint64_t monotonic_ns;
  uint64_t cupti_ns;
  uint64_t bound_ns;  ///< the pair is off by this at most
  uint64_t is_ours;   ///< CUPTI was given CLOCK_MONOTONIC to use
};

template <class Record>
constexpr uint32_t words_in() {
  static_assert(sizeof(Record) % sizeof(Word) == 0);
  return sizeof(Record) / sizeof(Word);
}

}  // namespace nl::wire
