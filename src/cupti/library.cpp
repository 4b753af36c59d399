#include "cupti/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace nl::cupti {
namespace {

void* open_library() {
  static constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
                                           "libcupti.so", "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"};
  if (const char* const path = getenv(kLibraryVariable); path != nullptr && path[0] != '\0')
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
  for (const char* const name : kNames) {
    if (void* const loaded = dlopen(name, RTLD_NOW | RTLD_NOLOAD)) return loaded;
  }
  for (const char* const name : kNames) {
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

template <class F>
bool find(void* library, const char* name, F*& function) {
  void* const symbol = dlsym(library, name);
  memcpy(&function, &symbol, sizeof symbol);
  return symbol != nullptr;
}

}  // namespace

const char* load(Functions& functions) {
  void* const library = open_library();
  if (library == nullptr) return "there is no libcupti";
#define NL_FIND(name) find(library, #name, functions.name)
  const bool has_all = NL_FIND(cuptiGetVersion) && NL_FIND(cuptiSubscribe) && NL_FIND(cuptiUnsubscribe) &&
                       NL_FIND(cuptiActivityRegisterCallbacks) && NL_FIND(cuptiActivityEnable) &&
                       NL_FIND(cuptiActivityFlushAll) && NL_FIND(cuptiActivityGetNextRecord) &&
                       NL_FIND(cuptiActivityGetNumDroppedRecords) && NL_FIND(cuptiGetTimestamp) &&
                       NL_FIND(cuptiGetCallbackName);
  if (!has_all) return "libcupti lacks functions";
  NL_FIND(cuptiActivityRegisterTimestampCallback);
  NL_FIND(cuptiActivityFlushPeriod);
  NL_FIND(cuptiSetThreadIdType);
#undef NL_FIND
  uint32_t version = 0;
  if (const Status status = functions.cuptiGetVersion(&version); status != kSuccess) {
    // CUPTI 13 loads the driver in every call, even in this one; 11 and 12 answer without it.
    const char* const why = missing_driver(status);
    return why != nullptr ? why : "libcupti does not say its version";
  }
  return version < kOldestVersion ? "libcupti is older than that of CUDA 11.8" : nullptr;
}

const char* missing_driver(Status status) {
  if (status == kNotInitialized) return "CUPTI finds no driver (error 15)";
  if (status == kUnknownError) return "CUPTI finds no driver (error 999)";
  return nullptr;
}

const char* other_tool() {
  struct Tool {
    const char* file;
    const char* name;
  };
  static constexpr Tool kTools[] = {{"libToolsInjection", "Nsight Systems"},
                                    {"libnsys", "Nsight Systems"},
                                    {"libcuda-injection", "Nsight Compute"},
                                    {"TreeLauncherTargetInjection", "Nsight Compute"},
                                    {"libdcgm", "DCGM"},
                                    {"libproton", "Triton's Proton"},
                                    {"libkineto", "Kineto"},
                                    {"libtorch_c", "torch.profiler (Kineto in libtorch)"}};
  constexpr size_t kOverlap = 64;  // a name may lie across two pieces
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  char text[kOverlap + 4096] = {};
  const Tool* found = nullptr;
  for (ssize_t bytes = 0; (bytes = read(fd, text + kOverlap, sizeof text - kOverlap)) > 0;) {
    for (const Tool& tool : kTools) {
      const bool is_there = memmem(text, kOverlap + static_cast<size_t>(bytes), tool.file, strlen(tool.file));
      if (is_there && (found == nullptr || &tool < found)) found = &tool;
    }
    memmove(text, text + bytes, kOverlap);
  }
  close(fd);
  return found == nullptr ? nullptr : found->name;
}

}  // namespace nl::cupti
