#pragma once
// Pairs of run sets with a known truth: 2,000 kernels in 12 classes, whose times differ from run to run by
// their own noise, by a factor that all kernels of a run share, and by outliers.

#include <vector>

#include "noise.h"
#include "stats/judge.h"

namespace nl::bench {

constexpr size_t kKernels = 2000;
constexpr size_t kClasses = 12;
constexpr double kRunSpread = 0.01;

/// Values of all kernels in the runs of both sides, without any change.
class Pair {
 public:
  Pair(Noise& noise, const std::vector<double>& weights, double spread, size_t runs);
  size_t runs() const { return base_.size(); }
  /// The candidate's kernels are `factors` times as slow. Levels below `levels` are left out; kernels below
  /// 0.1 % of the window, too.
  std::vector<stats::Level> with_change(const std::vector<double>& factors, size_t levels) const;
  /// Indices of the kernels of the last level.
  const std::vector<size_t>& tested() const { return tested_; }

 private:
  using Run = std::vector<double>;
  stats::Series total(const std::vector<double>& factors, size_t first, size_t step) const;

  std::vector<Run> base_, candidate_;
  std::vector<size_t> tested_;
};

/// Time of each kernel: few large, many small.
std::vector<double> kernel_weights(Noise& noise);
inline size_t class_of(size_t kernel) {
  return kernel % kClasses;
}

}  // namespace nl::bench
