#pragma once
// Questions about the spans of some rows in a stretch of time: sums by name, and where a name is.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/known.h"
#include "timeline/timeline_file.h"

namespace nl::timeline {

struct Stretch {
  int64_t begin_ns;
  int64_t end_ns;
};

/// The spans of one name that overlap the stretch. Lengths are of whole spans, sums of what lies in it.
struct NameSums {
  uint32_t name = 0;
  uint64_t count = 0;
  int64_t sum_ns = 0;
  int64_t whole_ns = 0;  ///< of whole spans
  int64_t min_ns = 0;
  int64_t max_ns = 0;
  Known<int64_t> union_ns = Absent{""};  ///< time that at least one of them covers
};

struct AreaSums {
  std::vector<NameSums> names;  ///< by sum, the largest first
  uint64_t count = 0;
  int64_t sum_ns = 0;
};

/// The union of a name that is in several rows is known up to so many spans.
inline constexpr uint64_t kMostForUnion = 1'000'000;

/// `rows`: numbers of rows of the file.
AreaSums sums_of(const TimelineFile& file, const std::vector<uint32_t>& rows, const Stretch& stretch);

struct Match {
  uint32_t row;
  uint32_t place;
  Span span;
};

struct Matches {
  uint64_t count = 0;
  std::optional<Match> next;  ///< the first that starts at the time asked for or later
  std::optional<Match> previous;
};

/// Names that contain the text, in upper or lower case.
std::vector<bool> names_with(const TimelineFile& file, std::string_view text);
/// Spans of these names, and the nearest around a time; of equals the one of the row that comes first.
Matches find_spans(const TimelineFile& file, const std::vector<uint32_t>& rows,
                   const std::vector<bool>& names, int64_t from_ns);

}  // namespace nl::timeline
