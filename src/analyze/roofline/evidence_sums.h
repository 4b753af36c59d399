#pragma once
// EvidenceSums: adds up over the launches of one kernel what its diagnosis rests on. Shares are weighted by
// the replayed time, sectors are summed, and the shape of the grid is that of the longest launch. One thread.

#include <map>
#include <string>

#include "analyze/answer/kernel_evidence.h"
#include "analyze/roofline/launch_values.h"

namespace nl::analyze {

class EvidenceSums {
 public:
  void add(const CountedLaunch& launch, const Values& values);
  KernelEvidence evidence() const;

 private:
  struct Mean {
    double weighted = 0;
    double weight = 0;

    void add(const std::optional<double>& value, double by);
    std::optional<double> value() const;
  };

  void add_shape(const CountedLaunch& launch, const Values& values);
  void add_means(double ns, const Values& values);
  void add_sectors(const Values& values);

  KernelEvidence longest_ = {};  ///< its shape only
  int64_t longest_ns_ = -1;
  int64_t small_grid_ns_ = 0;
  double empty_sm_ns_ = 0;
  Mean sm_active_ = {}, l1_ = {}, l2_ = {};
  std::map<std::string, Mean> stalls_ = {};
  std::map<std::string, Mean> pipes_ = {};
  double sectors_ = 0, ideal_sectors_ = 0;
  double local_sectors_ = 0, global_sectors_ = 0;
};

}  // namespace nl::analyze
