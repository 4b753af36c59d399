#pragma once
// LaunchArrows: which work of a device each call launched, for arrows from one to the other. It knows the
// arrows whose two ends are both written and that run forward in time: 8 bytes for each. For one thread.

#include <cstdint>
#include <span>
#include <vector>

#include "exports/trace_rows.h"

namespace nl::exports {

class LaunchArrows {
 public:
  /// Of one table of work: kernels with kernel_links, or copies with copy_links. `backward` counts arrows
  /// whose work begins before its launch, which no viewer can draw.
  static Result<LaunchArrows> read(TraceReader& reader, const std::string& table, const std::string& id,
                                   const std::string& links);

  struct Arrow {
    uint32_t launch;  ///< span_id
    uint32_t work;    ///< kernel_id or copy_id
  };
  /// Arrows that begin at the span. Quick if spans are asked for in the order of their ids.
  std::span<const Arrow> from(int64_t span_id);
  bool arrives_at(int64_t work_id) const;
  size_t size() const { return arrows_.size(); }
  int64_t backward() const { return backward_; }

 private:
  Result<void> add(int64_t launch, int64_t work);

  std::vector<Arrow> arrows_;  ///< sorted by launch
  std::vector<bool> arrives_;  ///< by id of the work
  size_t next_ = 0;            ///< where the last question ended
  int64_t backward_ = 0;
};

}  // namespace nl::exports
