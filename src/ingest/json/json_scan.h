#pragma once
// Scans JSON text in 64-byte blocks for the end of an array and for the commas between its elements. It
// understands strings and escapes and nothing else. One template is built twice: for AVX2, and for every
// machine.

#include <cstddef>
#include <cstdint>

namespace nl::ingest {

struct JsonScanState {
  uint64_t in_string = 0;  ///< 0, or all ones inside a string
  uint64_t escaped = 0;    ///< 1 if the next byte is escaped
  int64_t depth = 0;       ///< open brackets since the array began
};

inline constexpr size_t kNoOffset = ~size_t{0};

/// Scans text[from, to), a multiple of 64 bytes. Returns the offset of the bracket that closes the array, or
/// kNoOffset. `last_comma`, if given, gets the offset of the last comma between elements.
using JsonScan = size_t (*)(const char* text, size_t from, size_t to, JsonScanState& state,
                            size_t* last_comma);

/// The fastest one this machine can run.
JsonScan json_scan();

size_t json_scan_any(const char* text, size_t from, size_t to, JsonScanState& state, size_t* last_comma);
#if defined(__x86_64__)
size_t json_scan_avx2(const char* text, size_t from, size_t to, JsonScanState& state, size_t* last_comma);
#endif

}  // namespace nl::ingest
