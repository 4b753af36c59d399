#pragma once
// WindowCut: which rows touch the window of an export, and how much of each lies inside.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "exports/exporter.h"

namespace nl::exports {

class WindowCut {
 public:
  /// Sorted and disjoint; none: everything is inside. The stretches must outlive it.
  explicit WindowCut(const std::vector<Stretch>& stretches) : stretches_(stretches) {}

  bool is_all() const { return stretches_.empty(); }

  /// A row without a duration touches the stretch that it lies in.
  bool touches(int64_t start_ns, int64_t end_ns) const {
    if (is_all()) return true;
    const auto it = first_after(start_ns);
    return it != stretches_.end() && (it->begin_ns < end_ns || it->begin_ns <= start_ns);
  }

  /// Nanoseconds of the row that lie inside.
  int64_t inside(int64_t start_ns, int64_t end_ns) const {
    if (is_all()) return end_ns - start_ns;
    int64_t sum = 0;
    for (auto it = first_after(start_ns); it != stretches_.end() && it->begin_ns < end_ns; ++it)
      sum += std::min(end_ns, it->end_ns) - std::max(start_ns, it->begin_ns);
    return sum;
  }

 private:
  /// The first stretch that ends after this time.
  std::vector<Stretch>::const_iterator first_after(int64_t time_ns) const {
    return std::upper_bound(stretches_.begin(), stretches_.end(), time_ns,
                            [](int64_t time, const Stretch& stretch) { return time < stretch.end_ns; });
  }

  const std::vector<Stretch>& stretches_;
};

}  // namespace nl::exports
