// Compiled once for each version of NVIDIA's headers that tools/setup has put there, and never linked: abi.h
// must say the same.

#include <cupti.h>

#include "cupti/abi.h"

namespace nl::cupti {
namespace {

#if CUPTI_API_VERSION >= 130000
using NewestKernel = CUpti_ActivityKernel13;
using NewestMemcpy = CUpti_ActivityMemcpy7;
using NewestMemset = CUpti_ActivityMemset5;
using NewestSynchronization = CUpti_ActivitySynchronization2;
using NewestOverhead = CUpti_ActivityOverhead3;
using NewestDevice = CUpti_ActivityDevice6;
#elif CUPTI_API_VERSION > 18
using NewestKernel = CUpti_ActivityKernel9;
using NewestMemcpy = CUpti_ActivityMemcpy6;
using NewestMemset = CUpti_ActivityMemset4;
using NewestSynchronization = CUpti_ActivitySynchronization2;
using NewestOverhead = CUpti_ActivityOverhead3;
using NewestDevice = CUpti_ActivityDevice5;
#else
using NewestKernel = CUpti_ActivityKernel8;
using NewestMemcpy = CUpti_ActivityMemcpy5;
using NewestMemset = CUpti_ActivityMemset4;
using NewestSynchronization = CUpti_ActivitySynchronization;
using NewestOverhead = CUpti_ActivityOverhead;
using NewestDevice = CUpti_ActivityDevice4;
#endif
using NewestMemcpyBetweenDevices = CUpti_ActivityMemcpyPtoP4;

#define NL_SAME(ours, our_member, theirs, their_member)                         \
  static_assert(offsetof(ours, our_member) == offsetof(theirs, their_member) && \
                sizeof(ours::our_member) == sizeof(theirs::their_member))
#define NL_FITS(ours, theirs) static_assert(sizeof(ours) <= sizeof(theirs))

NL_FITS(Kernel, NewestKernel);
NL_SAME(Kernel, kind, NewestKernel, kind);
NL_SAME(Kernel, registers, NewestKernel, registersPerThread);
NL_SAME(Kernel, start, NewestKernel, start);
NL_SAME(Kernel, end, NewestKernel, end);
NL_SAME(Kernel, device, NewestKernel, deviceId);
NL_SAME(Kernel, context, NewestKernel, contextId);
NL_SAME(Kernel, stream, NewestKernel, streamId);
static_assert(offsetof(Kernel, grid) == offsetof(NewestKernel, gridX));
static_assert(offsetof(Kernel, block) == offsetof(NewestKernel, blockX));
NL_SAME(Kernel, static_shared_memory, NewestKernel, staticSharedMemory);
NL_SAME(Kernel, dynamic_shared_memory, NewestKernel, dynamicSharedMemory);
NL_SAME(Kernel, correlation, NewestKernel, correlationId);
NL_SAME(Kernel, name, NewestKernel, name);
NL_SAME(Kernel, launch_type, NewestKernel, launchType);
NL_SAME(Kernel, graph_node, NewestKernel, graphNodeId);
NL_SAME(Kernel, graph, NewestKernel, graphId);

NL_FITS(Memcpy, NewestMemcpy);
NL_SAME(Memcpy, copy_kind, NewestMemcpy, copyKind);
NL_SAME(Memcpy, from_kind, NewestMemcpy, srcKind);
NL_SAME(Memcpy, to_kind, NewestMemcpy, dstKind);
NL_SAME(Memcpy, bytes, NewestMemcpy, bytes);
NL_SAME(Memcpy, start, NewestMemcpy, start);
NL_SAME(Memcpy, end, NewestMemcpy, end);
NL_SAME(Memcpy, device, NewestMemcpy, deviceId);
NL_SAME(Memcpy, context, NewestMemcpy, contextId);
NL_SAME(Memcpy, stream, NewestMemcpy, streamId);
NL_SAME(Memcpy, correlation, NewestMemcpy, correlationId);
NL_SAME(Memcpy, graph_node, NewestMemcpy, graphNodeId);
NL_SAME(Memcpy, graph, NewestMemcpy, graphId);

NL_FITS(MemcpyBetweenDevices, NewestMemcpyBetweenDevices);
NL_SAME(MemcpyBetweenDevices, copy_kind, NewestMemcpyBetweenDevices, copyKind);
NL_SAME(MemcpyBetweenDevices, from_kind, NewestMemcpyBetweenDevices, srcKind);
NL_SAME(MemcpyBetweenDevices, to_kind, NewestMemcpyBetweenDevices, dstKind);
NL_SAME(MemcpyBetweenDevices, bytes, NewestMemcpyBetweenDevices, bytes);
NL_SAME(MemcpyBetweenDevices, start, NewestMemcpyBetweenDevices, start);
NL_SAME(MemcpyBetweenDevices, end, NewestMemcpyBetweenDevices, end);
NL_SAME(MemcpyBetweenDevices, device, NewestMemcpyBetweenDevices, deviceId);
NL_SAME(MemcpyBetweenDevices, stream, NewestMemcpyBetweenDevices, streamId);
NL_SAME(MemcpyBetweenDevices, from_device, NewestMemcpyBetweenDevices, srcDeviceId);
NL_SAME(MemcpyBetweenDevices, to_device, NewestMemcpyBetweenDevices, dstDeviceId);
NL_SAME(MemcpyBetweenDevices, correlation, NewestMemcpyBetweenDevices, correlationId);
NL_SAME(MemcpyBetweenDevices, graph_node, NewestMemcpyBetweenDevices, graphNodeId);
NL_SAME(MemcpyBetweenDevices, graph, NewestMemcpyBetweenDevices, graphId);

NL_FITS(Memset, NewestMemset);
NL_SAME(Memset, value, NewestMemset, value);
NL_SAME(Memset, bytes, NewestMemset, bytes);
NL_SAME(Memset, start, NewestMemset, start);
NL_SAME(Memset, end, NewestMemset, end);
NL_SAME(Memset, device, NewestMemset, deviceId);
NL_SAME(Memset, context, NewestMemset, contextId);
NL_SAME(Memset, stream, NewestMemset, streamId);
NL_SAME(Memset, correlation, NewestMemset, correlationId);
NL_SAME(Memset, memory_kind, NewestMemset, memoryKind);
NL_SAME(Memset, graph_node, NewestMemset, graphNodeId);
NL_SAME(Memset, graph, NewestMemset, graphId);

NL_FITS(Synchronization, NewestSynchronization);
NL_SAME(Synchronization, type, NewestSynchronization, type);
NL_SAME(Synchronization, start, NewestSynchronization, start);
NL_SAME(Synchronization, end, NewestSynchronization, end);
NL_SAME(Synchronization, correlation, NewestSynchronization, correlationId);
NL_SAME(Synchronization, context, NewestSynchronization, contextId);
NL_SAME(Synchronization, stream, NewestSynchronization, streamId);
NL_SAME(Synchronization, event, NewestSynchronization, cudaEventId);

NL_FITS(Call, CUpti_ActivityAPI);
NL_SAME(Call, callback, CUpti_ActivityAPI, cbid);
NL_SAME(Call, start, CUpti_ActivityAPI, start);
NL_SAME(Call, end, CUpti_ActivityAPI, end);
NL_SAME(Call, thread, CUpti_ActivityAPI, threadId);
NL_SAME(Call, correlation, CUpti_ActivityAPI, correlationId);
NL_SAME(Call, return_value, CUpti_ActivityAPI, returnValue);

NL_FITS(Overhead, NewestOverhead);
NL_SAME(Overhead, overhead_kind, NewestOverhead, overheadKind);
NL_SAME(Overhead, object_kind, NewestOverhead, objectKind);
static_assert(offsetof(Overhead, object) == offsetof(NewestOverhead, objectId));
NL_SAME(Overhead, start, NewestOverhead, start);
NL_SAME(Overhead, end, NewestOverhead, end);

NL_FITS(Device, NewestDevice);
NL_SAME(Device, global_memory_size, NewestDevice, globalMemorySize);
NL_SAME(Device, multiprocessors, NewestDevice, numMultiprocessors);
NL_SAME(Device, compute_major, NewestDevice, computeCapabilityMajor);
NL_SAME(Device, compute_minor, NewestDevice, computeCapabilityMinor);
NL_SAME(Device, number, NewestDevice, id);
NL_SAME(Device, name, NewestDevice, name);

#define NL_EQUAL(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs))
NL_EQUAL(Kind::kMemcpy, CUPTI_ACTIVITY_KIND_MEMCPY);
NL_EQUAL(Kind::kMemset, CUPTI_ACTIVITY_KIND_MEMSET);
NL_EQUAL(Kind::kKernel, CUPTI_ACTIVITY_KIND_KERNEL);
NL_EQUAL(Kind::kDriver, CUPTI_ACTIVITY_KIND_DRIVER);
NL_EQUAL(Kind::kRuntime, CUPTI_ACTIVITY_KIND_RUNTIME);
NL_EQUAL(Kind::kDevice, CUPTI_ACTIVITY_KIND_DEVICE);
NL_EQUAL(Kind::kConcurrentKernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
NL_EQUAL(Kind::kOverhead, CUPTI_ACTIVITY_KIND_OVERHEAD);
NL_EQUAL(Kind::kMemcpyBetweenDevices, CUPTI_ACTIVITY_KIND_MEMCPY2);
NL_EQUAL(Kind::kSynchronization, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
NL_EQUAL(kMaxLimitReached, CUPTI_ERROR_MAX_LIMIT_REACHED);
NL_EQUAL(kNotInitialized, CUPTI_ERROR_NOT_INITIALIZED);
NL_EQUAL(kInsufficientPrivileges, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
NL_EQUAL(kMultipleSubscribers, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
NL_EQUAL(kUnknownError, CUPTI_ERROR_UNKNOWN);
NL_EQUAL(kDriverDomain, CUPTI_CB_DOMAIN_DRIVER_API);
NL_EQUAL(kRuntimeDomain, CUPTI_CB_DOMAIN_RUNTIME_API);
NL_EQUAL(kSystemThreadIds, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
NL_EQUAL(kForcedFlush, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
NL_EQUAL(kThreadObject, CUPTI_ACTIVITY_OBJECT_THREAD);

}  // namespace
}  // namespace nl::cupti
