#pragma once
// The counters of the kernels on both sides, if a counter profiler measured them. Kernels are found by name,
// even if the profilers spell the name differently.

#include <map>
#include <string>
#include <vector>

#include "analyze/answer/counters.h"
#include "compare/answer.h"
#include "compare/side.h"

namespace nl::compare {

class KernelCounters {
 public:
  explicit KernelCounters(const Texts& texts) : texts_(texts) {}

  Result<void> read(analyze::LoadedRun& base, analyze::LoadedRun& next);
  /// Of the first measured one of the names of each side; empty without any.
  std::vector<CounterRow> beside(const std::vector<uint32_t>& base_names,
                                 const std::vector<uint32_t>& next_names) const;

 private:
  using ByName = std::map<std::string, analyze::CountedKernel>;
  const analyze::CountedKernel* find(const ByName& kernels, const std::vector<uint32_t>& names) const;

  const Texts& texts_;
  ByName base_, next_;
};

}  // namespace nl::compare
