#pragma once
// Device: all work of one device of one rank on one time line, and the union of each kind of work. If a run
// has no device work, its host becomes a device whose work is the ops.

#include <optional>
#include <string>
#include <vector>

#include "analyze/load/decomposition.h"
#include "analyze/load/timeline.h"
#include "analyze/names/op_class.h"

namespace nl::analyze {

/// Class of each name of the run: as a kernel, and as an op. By the id of the name.
struct NameClasses {
  std::vector<OpClass> kernel;
  std::vector<OpClass> op;
};

enum class WorkKind : uint8_t { kCompute, kCommunication, kCopy };
enum class WorkTable : uint8_t { kKernels, kCopies, kSpans };

struct Work {
  int64_t start, end;
  uint32_t row;  ///< in its table
  uint32_t name;
  uint32_t launch;  ///< span, or kNoRow
  uint32_t op;      ///< span, or kNoRow
  int32_t track;
  WorkKind kind;
  WorkTable table;
};

struct Device {
  std::optional<int32_t> number;
  std::optional<int32_t> rank;
  bool is_host = false;
  bool has_records = false;  ///< kernels or copies; else its work are spans, e.g. whole inferences
  PagedVector<Work> work;    ///< by start, end, table, row
  int64_t untimed = 0;       ///< rows without timing, which no figure contains
  IntervalSet compute, communication, copy, kernels, busy;
};

/// Numbers and ranks come from the file, which may name any number of them.
inline constexpr size_t kMostDevices = 1000;

/// What no figure of a run with more devices contains.
struct DevicesLeftOut {
  int64_t devices = 0;
  int64_t rows = 0;  ///< kernels, copies and spans
};

/// By rank and number. Of more than kMostDevices those with the longest work.
std::vector<Device> devices_of(const Timeline& run, const NameClasses& classes,
                               DevicesLeftOut* left_out = nullptr);

Decomposition decompose(const Device& device, const IntervalSet& window);

}  // namespace nl::analyze
