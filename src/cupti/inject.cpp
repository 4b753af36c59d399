// What the CUDA driver calls when it starts, in the library that CUDA_INJECTION64_PATH names: asks CUPTI for
// records of all work, which come in buffers (buffers.h) and go into a ring (activity.h). If that cannot be,
// the recording says so in one line and holds no work of GPUs; the program goes on as if nothing was asked.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "collect/markers.h"
#include "cupti/activity.h"
#include "cupti/buffers.h"
#include "cupti/library.h"

namespace nl::cupti {
namespace {

constexpr uint32_t kFlushMilliseconds = 100;

constinit std::atomic<bool> is_started{false};
constinit Functions functions = {};
constinit pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  // of writer
constinit ActivityWriter writer;
constinit pid_t owner = 0;  // a forked child has no CUDA, and must leave CUPTI alone

void say(const char* what, const char* more = "") {
  char line[256];
  const int bytes = snprintf(line, sizeof line, "no GPU work is recorded: %s%s", what, more);
  collect::say(
      {line, static_cast<size_t>(bytes) < sizeof line ? static_cast<size_t>(bytes) : sizeof line - 1});
}

// ---- What CUPTI calls

uint64_t timestamp() {
  return static_cast<uint64_t>(wire::clock_ns(CLOCK_MONOTONIC));
}

void requested(uint8_t** buffer, size_t* bytes, size_t* max_records) {
  *buffer = take_buffer();
  *bytes = *buffer != nullptr ? kBufferBytes : 0;
  *max_records = 0;  // as many as fit
}

void completed(Context context, uint32_t stream, uint8_t* buffer, size_t, size_t valid_bytes) {
  if (getpid() == owner) {
    pthread_mutex_lock(&lock);
    writer.write_clock();
    if (buffer != nullptr && valid_bytes > 0) writer.write_buffer(buffer, valid_bytes);
    size_t dropped = 0;
    if (functions.cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == kSuccess)
      writer.lose(wire::Loss::kGpuDropped, dropped);
    pthread_mutex_unlock(&lock);
  }
  if (buffer != nullptr) give_back(buffer);
}

void ignore(void*, uint32_t, uint32_t, const void*) {}

void at_exit() {
  if (getpid() == owner) functions.cuptiActivityFlushAll(kForcedFlush);
}

// ---- Starting

/// Being the subscriber keeps others from taking CUPTI over, and says if one has it.
bool subscribe() {
  void* subscriber = nullptr;
  const Status status = functions.cuptiSubscribe(&subscriber, ignore, nullptr);
  if (status == kSuccess) return true;
  if (status == kMultipleSubscribers) {
    const char* const other = other_tool();
    say("another tool uses CUPTI in this process: ", other != nullptr ? other : "which one is not known");
  } else if (const char* const why = missing_driver(status)) {
    say(why);
  } else if (status == kInsufficientPrivileges) {
    say("CUPTI says that this user may not profile (error 35)");
  } else {
    char number[32];
    snprintf(number, sizeof number, "%d", status);
    say("CUPTI refuses with error ", number);
  }
  return false;
}

/// Once in the life of a process: a clock that is given again spoils the records before it.
bool give_clock() {
  return functions.cuptiActivityRegisterTimestampCallback != nullptr &&
         functions.cuptiActivityRegisterTimestampCallback(timestamp) == kSuccess;
}

/// Work of graphs comes node by node as long as graphs as a whole are not asked for.
bool enable_kinds() {
  if (functions.cuptiActivityEnable(Kind::kConcurrentKernel) != kSuccess) return false;
  for (const Kind kind : {Kind::kDevice, Kind::kMemcpy, Kind::kMemcpyBetweenDevices, Kind::kMemset,
                          Kind::kSynchronization, Kind::kRuntime, Kind::kDriver, Kind::kOverhead})
    functions.cuptiActivityEnable(kind);
  return true;
}

void start() {
  if (is_started.exchange(true) || !collect::start_process()) return;
  if (const char* const why = load(functions)) return say(why);
  if (!subscribe()) return;
  collect::ThreadRing* const ring = collect::make_ring_of("GPU");
  if (ring == nullptr) return say("there is no memory for its buffer");
  owner = getpid();
  if (functions.cuptiSetThreadIdType != nullptr) functions.cuptiSetThreadIdType(kSystemThreadIds);
  writer.start(functions, ring, give_clock());
  if (functions.cuptiActivityRegisterCallbacks(requested, completed) != kSuccess || !enable_kinds())
    return say("CUPTI does not trace kernels here");
  if (functions.cuptiActivityFlushPeriod != nullptr) functions.cuptiActivityFlushPeriod(kFlushMilliseconds);
  atexit(at_exit);
}

}  // namespace
}  // namespace nl::cupti

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  nl::cupti::start();
  return 1;
}
