#pragma once
// The part of NVTX 3 that a program and a tool share. A program calls NVTX through a table of pointers, and
// the tool fills that table. Layouts and numbers are those of the NVTX 3 headers (nvtxDetail/nvtxTypes.h,
// nvtxExtTypes.h, nvToolsExt.h, nvToolsExtPayload.h; https://github.com/NVIDIA/NVTX). They cannot change,
// because existing programs were compiled with them.

#include <cstddef>
#include <cstdint>

namespace nl::collect::nvtx {

// ---- The tables

using Function = void (*)();
enum Module : uint32_t { kCore = 1, kCuda = 2, kOpenCl = 3, kCudaRuntime = 4, kCore2 = 5, kSync = 6 };

struct CallbackTable {
  size_t struct_size;
  /// An array of pointers to the places that hold the functions; the first one is not used.
  int (*module_functions)(Module module, Function*** table, uint32_t* count);
};
inline constexpr uint32_t kCallbackTable = 1;
using GetTable = const void* (*)(uint32_t table);

enum CoreFunction : uint32_t {
  kMarkEx = 1,
  kMarkA,
  kMarkW,
  kRangeStartEx,
  kRangeStartA,
  kRangeStartW,
  kRangeEnd,
  kRangePushEx,
  kRangePushA,
  kRangePushW,
  kRangePop,
  kNameCategoryA,
  kNameCategoryW,
  kNameOsThreadA,
  kNameOsThreadW
};
enum Core2Function : uint32_t {
  kDomainMarkEx = 1,
  kDomainRangeStartEx,
  kDomainRangeEnd,
  kDomainRangePushEx,
  kDomainRangePop,
  kDomainResourceCreate,
  kDomainResourceDestroy,
  kDomainNameCategoryA,
  kDomainNameCategoryW,
  kDomainRegisterStringA,
  kDomainRegisterStringW,
  kDomainCreateA,
  kDomainCreateW,
  kDomainDestroy,
  kInitialize
};

// ---- Extensions

struct ExtensionSegment {
  size_t segment;
  size_t count;
  intptr_t* functions;
};
struct ExtensionModule {
  uint16_t nvtx_version;
  uint16_t struct_size;
  uint16_t module;
  uint16_t compatibility;
  size_t segment_count;
  ExtensionSegment* segments;
  intptr_t (*get_function)(uint32_t function);
  const void* info;
};
inline constexpr uint16_t kPayloadModule = 2, kCounterModule = 4;
enum PayloadFunction : size_t {
  kMarkPayload = 2,
  kRangePushPayload,
  kRangePopPayload,
  kRangeStartPayload,
  kRangeEndPayload,
  kDomainIsEnabled
};
/// Samples of counters; 0 registers one.
inline constexpr size_t kFirstCounterSample = 1, kLastCounterSample = 5;

// ---- Events

/// What a tool gives is opaque to the program: here the number of a name (collect/names.h).
using Handle = uintptr_t;

struct Event {
  uint16_t version;
  uint16_t size;  ///< of this structure, as the program knows it
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type;
  int32_t reserved;
  union {
    uint64_t natural64;
    int64_t whole64;
    double real64;
    uint32_t natural32;
    int32_t whole32;
    float real32;
  } payload;
  int32_t message_type;
  union {
    const char* ascii;
    const wchar_t* wide;
    Handle registered;
  } message;
};
static_assert(sizeof(Event) == 48);
enum ColorType : int32_t { kArgb = 1 };
enum PayloadType : int32_t { kNatural64 = 1, kWhole64, kReal64, kNatural32, kWhole32, kReal32 };
enum MessageType : int32_t { kAscii = 1, kWide = 2, kRegistered = 3 };

}  // namespace nl::collect::nvtx
