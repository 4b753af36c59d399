#pragma once
// Timeline: the columns of a run that the analysis needs, about 40 bytes per row, maybe more than memory. Row
// n of a table here is row n of its file. Times are on the common clock.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/load/intervals.h"
#include "base/paged_vector.h"
#include "base/result.h"
#include "model/tables.h"

namespace nl::store {
class OpenRun;
}

namespace nl::analyze {

inline constexpr uint32_t kNoRow = UINT32_MAX;

/// The texts of a run, each once.
class Names {
 public:
  uint32_t add(std::string_view text);
  std::string_view operator[](uint32_t id) const { return *texts_[id]; }
  size_t size() const { return texts_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> ids_;
  std::vector<const std::string*> texts_;
};

struct Track {
  bool is_stream = false;
  std::optional<int32_t> device;
  std::optional<int32_t> rank;
};

struct Spans {
  PagedVector<int64_t> start, end;  ///< end = start where there is no duration
  PagedVector<uint32_t> name;
  PagedVector<uint32_t> op_type;  ///< name of its type, where the source has another than the op's own
  PagedVector<uint32_t> parent;   ///< kNoRow at the top
  PagedVector<uint32_t> op;       ///< innermost op at or around it
  PagedVector<int32_t> track;
  PagedVector<model::SpanKind> kind;
  size_t size() const { return start.size(); }
  Interval interval(size_t span) const { return {start[span], end[span]}; }
};

/// Kernels, copies, or spans of a device. Rows without timing have end < start.
struct DeviceRows {
  PagedVector<int64_t> start, end;
  PagedVector<uint32_t> name;
  PagedVector<uint32_t> launch;  ///< span of the launch call
  PagedVector<uint32_t> op;      ///< innermost op around it
  PagedVector<int32_t> track;
  PagedVector<int32_t> device;  ///< kNoDevice where the source does not say
  size_t size() const { return start.size(); }
  bool timed(size_t row) const { return end[row] >= start[row]; }
};

inline constexpr int32_t kNoDevice = std::numeric_limits<int32_t>::min();

struct Timeline {
  Names names;
  std::vector<Track> tracks;
  Spans spans;
  DeviceRows kernels;
  DeviceRows copies;
  PagedVector<int64_t> copy_bytes;  ///< model::kNull where unknown
  Interval capture;  ///< from the first start to the last end of all spans, kernels and copies; of a slice:
                     ///< its part
};

/// bad_input if the times of the run span more than 146 years.
Result<Timeline> load_timeline(store::OpenRun& open);

}  // namespace nl::analyze
