#pragma once
// TimelineWriter: writes the file of a time line, row by row, and holds one row at a time. See layout.h.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "timeline/layout.h"
#include "timeline/span.h"

namespace nl::timeline {

class TimelineWriter {
 public:
  /// The file has a name that begins with `aside` until it is complete. `names`: how many there may be.
  static Result<TimelineWriter> create(const std::string& aside, uint64_t names);

  /// Rows in the order of their names; spans by start, of which no two overlap.
  Result<void> add_row(const RowName& name, std::span<const Span> spans);
  Result<void> finish(const std::string& path, const std::vector<std::string_view>& names, int64_t origin_ns,
                      uint64_t not_placed);

 private:
  TimelineWriter(NewFile file, uint64_t names)
      : file_(std::move(file)), name_bytes_(names > 65'536 ? 4 : 2) {}

  template <class T>
  void put(const T& value);
  template <class T, class Of>
  void put_column(std::span<const Span> spans, const Of& of);
  void pad();
  Result<void> write_out(size_t most_kept);
  void put_columns(std::span<const Span> spans, RowHead& head);
  void put_index(std::span<const Span> spans);
  void put_levels(std::span<const Span> spans, RowHead& head);

  NewFile file_;
  uint64_t name_bytes_;
  uint64_t written_ = 0;
  uint64_t spans_ = 0;
  std::string buffer_;
  std::vector<RowHead> rows_;
};

}  // namespace nl::timeline
