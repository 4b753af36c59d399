// A stand-in for libcupti, for tests alone: no GPU is here. It keeps CUPTI's interface as NVIDIA's headers
// declare it, in the version that it is compiled against, and replays buffers of records with known faults.
// The program under test calls standin_run(what, records), which stands for work on a GPU.

#include <cupti.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

#if CUPTI_API_VERSION >= 130000
using Kernel = CUpti_ActivityKernel13;
using Memcpy = CUpti_ActivityMemcpy7;
using Memset = CUpti_ActivityMemset5;
using Synchronization = CUpti_ActivitySynchronization2;
using Overhead = CUpti_ActivityOverhead3;
using Device = CUpti_ActivityDevice6;
#elif CUPTI_API_VERSION > 18
using Kernel = CUpti_ActivityKernel9;
using Memcpy = CUpti_ActivityMemcpy6;
using Memset = CUpti_ActivityMemset4;
using Synchronization = CUpti_ActivitySynchronization2;
using Overhead = CUpti_ActivityOverhead3;
using Device = CUpti_ActivityDevice5;
#else
using Kernel = CUpti_ActivityKernel8;
using Memcpy = CUpti_ActivityMemcpy5;
using Memset = CUpti_ActivityMemset4;
using Synchronization = CUpti_ActivitySynchronization;
using Overhead = CUpti_ActivityOverhead;
using Device = CUpti_ActivityDevice4;
#endif

CUpti_BuffersCallbackRequestFunc request;
CUpti_BuffersCallbackCompleteFunc complete;
CUpti_TimestampCallbackFunc timestamp;
size_t dropped;
uint8_t* buffer;
size_t capacity, used;
bool is_refusing_buffers;
uint32_t correlation;

uint64_t native_ns() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}
uint64_t now_ns() {
  return timestamp != nullptr ? timestamp() : native_ns();
}

size_t size_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(Kernel);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(Memcpy);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(Memset);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return sizeof(Synchronization);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return sizeof(Overhead);
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return sizeof(Device);
    case CUPTI_ACTIVITY_KIND_NAME:
      return sizeof(CUpti_ActivityName);
    default:
      return 0;
  }
}

void flush() {
  uint8_t* const full = buffer;
  buffer = nullptr;
  if (full != nullptr || dropped > 0) complete(nullptr, 0, full, capacity, used);
  used = 0;
}

template <class Record>
void add(const Record& record) {
  if (buffer != nullptr && used + sizeof record > capacity) flush();
  if (buffer == nullptr && !is_refusing_buffers) {
    size_t max_records = 0;
    request(&buffer, &capacity, &max_records);
    used = 0;
  }
  if (buffer == nullptr || is_refusing_buffers) {
    dropped++;
    return;
  }
  std::memcpy(buffer + used, &record, sizeof record);
  used += sizeof record;
}

CUpti_ActivityAPI call(CUpti_ActivityKind kind, uint32_t id, uint32_t with) {
  CUpti_ActivityAPI call = {};
  call.kind = kind;
  call.cbid = id;
  call.start = now_ns();
  call.end = call.start + 500;
  while (now_ns() < call.end) continue;
  call.processId = static_cast<uint32_t>(getpid());
  call.threadId = static_cast<uint32_t>(syscall(SYS_gettid));
  call.correlationId = with;
  return call;
}

Kernel kernel(uint32_t with, const char* name = "_Z4gemmPKfS0_Pfi") {
  Kernel kernel;
  std::memset(&kernel, 0, sizeof kernel);
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.registersPerThread = 32;
  kernel.start = now_ns();
  kernel.end = kernel.start + 2000;
  kernel.contextId = 1;
  kernel.streamId = 7;
  kernel.correlationId = with;
  kernel.gridX = 64, kernel.gridY = 2, kernel.gridZ = 1;
  kernel.blockX = 128, kernel.blockY = 1, kernel.blockZ = 1;
  kernel.staticSharedMemory = 1024;
  kernel.dynamicSharedMemory = 512;
  kernel.name = name;
  return kernel;
}

void launch() {
  add(call(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, ++correlation));
  add(kernel(correlation));
}

void all_kinds() {
  Device device;
  std::memset(&device, 0, sizeof device);
  device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  device.name = "Stand-in GPU";
  device.numMultiprocessors = 132;
  device.globalMemorySize = 80ull << 30;
  device.computeCapabilityMajor = 9;
  add(device);
  launch();
  Memcpy copy;
  std::memset(&copy, 0, sizeof copy);
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.bytes = 4096;
  copy.start = now_ns();
  copy.end = copy.start + 1000;
  copy.contextId = 1;
  copy.streamId = 7;
  add(call(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, ++correlation));
  copy.correlationId = correlation;
  add(copy);
  Memset set;
  std::memset(&set, 0, sizeof set);
  set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  set.value = 255;
  set.bytes = 64;
  set.start = now_ns();
  set.end = set.start + 100;
  set.contextId = 1;
  set.streamId = 7;
  set.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  add(call(CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async, ++correlation));
  set.correlationId = correlation;
  add(set);
  Synchronization sync;
  std::memset(&sync, 0, sizeof sync);
  sync.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  sync.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
  sync.start = now_ns();
  sync.end = sync.start + 300;
  sync.contextId = 1;
  sync.streamId = 7;
  sync.cudaEventId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  add(call(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020, ++correlation));
  sync.correlationId = correlation;
  add(sync);
  Overhead overhead;
  std::memset(&overhead, 0, sizeof overhead);
  overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
  overhead.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  overhead.objectId.pt.processId = static_cast<uint32_t>(getpid());
  overhead.objectId.pt.threadId = static_cast<uint32_t>(syscall(SYS_gettid));
  overhead.start = now_ns();
  overhead.end = overhead.start + 50;
  add(overhead);
}

void graph_of(uint32_t nodes) {
  add(call(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, ++correlation));
  for (uint32_t node = 1; node <= nodes; node++) {
    Kernel of_graph = kernel(correlation);
    of_graph.graphNodeId = (uint64_t{3} << 32) + node;
    of_graph.graphId = 3;
    add(of_graph);
  }
}

void faults(const std::string& what) {
  const uint32_t id = ++correlation;
  Kernel faulty = kernel(id);
  add(call(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, id));
  if (what == "zero_times") faulty.start = faulty.end = 0;
  if (what == "other_clock") faulty.start -= 100000000000000, faulty.end -= 100000000000000;
  if (what == "end_before_start") faulty.end = faulty.start - 10;
  if (what == "no_correlation") faulty.correlationId = 0;
  if (what == "no_name") faulty.name = nullptr;
  add(faulty);
  if (what == "overlap") {  // legal: another one of the same stream before it ends
    faulty.start += 500;
    faulty.end += 500;
    add(faulty);
  }
  if (what == "reused_correlation") {
    usleep(1000);
    correlation = 0;
    launch();
  }
  if (what == "unknown_kind") {
    CUpti_ActivityName name;
    std::memset(&name, 0, sizeof name);
    name.kind = CUPTI_ACTIVITY_KIND_NAME;
    add(name);
  }
  if (what == "damaged_buffer") {
    const uint32_t unknown = 9999;
    std::memcpy(buffer + used, &unknown, sizeof unknown);
    used += 64;
  }
  if (what == "dropped") {
    is_refusing_buffers = true;
    for (int i = 0; i < 1000; i++) add(faulty);
    is_refusing_buffers = false;
  }
}

}  // namespace

#define NL_CUPTI extern "C" __attribute__((visibility("default"))) CUptiResult

NL_CUPTI cuptiGetVersion(uint32_t* version) {
  if (const char* const status = getenv("STANDIN_VERSION")) return static_cast<CUptiResult>(atoi(status));
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}
NL_CUPTI cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc, void*) {
  if (const char* const status = getenv("STANDIN_SUBSCRIBE")) return static_cast<CUptiResult>(atoi(status));
  *subscriber = nullptr;
  return CUPTI_SUCCESS;
}
NL_CUPTI cuptiUnsubscribe(CUpti_SubscriberHandle) {
  return CUPTI_SUCCESS;
}
NL_CUPTI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                        CUpti_BuffersCallbackCompleteFunc completed) {
  request = requested;
  complete = completed;
  return CUPTI_SUCCESS;
}
NL_CUPTI cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc given) {
  if (getenv("STANDIN_NO_TIMESTAMP") != nullptr) return CUPTI_ERROR_NOT_SUPPORTED;
  if (timestamp != nullptr) std::abort();  // never twice
  timestamp = given;
  return CUPTI_SUCCESS;
}
NL_CUPTI cuptiActivityEnable(CUpti_ActivityKind) {
  return CUPTI_SUCCESS;
}
NL_CUPTI cuptiActivityFlushPeriod(uint32_t) {
  return CUPTI_SUCCESS;
}
NL_CUPTI cuptiSetThreadIdType(CUpti_ActivityThreadIdType) {
  return CUPTI_SUCCESS;
}
NL_CUPTI cuptiActivityFlushAll(uint32_t) {
  if (complete != nullptr) flush();
  return CUPTI_SUCCESS;
}
NL_CUPTI cuptiActivityGetNextRecord(uint8_t* from, size_t valid, CUpti_Activity** record) {
  uint8_t* next = from;
  if (*record != nullptr) next = reinterpret_cast<uint8_t*>(*record) + size_of((*record)->kind);
  if (next >= from + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return size_of((*record)->kind) == 0 ? CUPTI_ERROR_INVALID_KIND : CUPTI_SUCCESS;
}
NL_CUPTI cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* count) {
  *count = dropped;
  dropped = 0;
  return CUPTI_SUCCESS;
}
NL_CUPTI cuptiGetTimestamp(uint64_t* time) {
  *time = now_ns();
  return CUPTI_SUCCESS;
}
NL_CUPTI cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char** name) {
  static char text[64];
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
    std::snprintf(text, sizeof text, "cuCall%u", id);
  } else if (id == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000) {
    std::snprintf(text, sizeof text, "cudaLaunchKernel_v7000");
  } else {
    std::snprintf(text, sizeof text, "cudaCall%u", id);
  }
  *name = text;
  return CUPTI_SUCCESS;
}

extern "C" __attribute__((visibility("default"))) void standin_run(const char* what, int records) {
  if (request == nullptr) return;
  if (std::strcmp(what, "all_kinds") == 0) return all_kinds();
  if (std::strcmp(what, "graph") == 0) return graph_of(static_cast<uint32_t>(records));
  if (std::strcmp(what, "launches") == 0) {
    for (int i = 0; i < records; i++) launch();
    return;
  }
  faults(what);
}
