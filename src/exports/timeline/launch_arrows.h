#pragma once
// LaunchArrows: which work of a device each call launched, for arrows from one to the other. It knows the
// arrows whose two ends are both written and that run forward in time: 8 bytes for each. For one thread.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "exports/timeline/trace_rows.h"

namespace nl::exports {

class LaunchArrows {
 public:
  /// A table of work, its ids, and the table that links it to spans.
  struct Work {
    std::string table, id, links;
  };
  static Result<LaunchArrows> read(TraceReader& reader, const Work& work);

  struct Arrow {
    uint32_t launch;  ///< span_id
    uint32_t work;    ///< kernel_id or copy_id
  };
  /// Arrows that begin at the span. Quick if spans are asked for in the order of their ids.
  std::span<const Arrow> from(int64_t span_id);
  bool arrives_at(int64_t work_id) const;
  size_t size() const { return arrows_.size(); }
  /// How many there are besides whose work begins before its launch: no viewer can draw them.
  int64_t backward() const { return backward_; }

 private:
  Result<void> read_links(TraceReader& reader, const Work& work);
  Result<void> follow(TraceReader& reader, const std::vector<int64_t>& begins);
  void arrive(uint32_t work, int64_t launched, const std::vector<int64_t>& begins);

  std::vector<Arrow> arrows_;  ///< sorted by launch
  std::vector<bool> arrives_;  ///< by id of the work
  size_t next_ = 0;            ///< where the last question ended
  int64_t backward_ = 0;
};

inline const LaunchArrows::Work kKernelArrows{"kernels", "kernel_id", "kernel_links"};
inline const LaunchArrows::Work kCopyArrows{"copies", "copy_id", "copy_links"};

}  // namespace nl::exports
