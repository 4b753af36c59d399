#pragma once
// What holds the kernels back that a counter profiler measured. A statement is a condition on measured
// figures; where the file lacks them, nothing is said. Pure functions; any thread.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyze/answer/counters.h"
#include "analyze/names/taxonomy.h"
#include "analyze/roofline/launch_values.h"

namespace nl::analyze {

/// Two ranges of a program that differ by one word, fused and non-fused, of which the fused one took longer.
struct FusedRanges {
  std::string fused = {}, separate = {};  ///< names of the ranges
  int64_t fused_ns = 0, separate_ns = 0;
  int64_t separate_launches = 0;
  std::string kernel = {};  ///< the longest one of the fused range
};

/// The first such pair, if any. All launches of both must be measured, and the fused range must have fewer
/// of them: else the two may have done a different amount of work.
std::optional<FusedRanges> slower_fusion(const std::vector<CountedLaunch>& launches);

struct DiagnosisContext {
  const Taxonomy& taxonomy;
  const std::map<std::string, std::string>& stall_rules;  ///< texts of the profiler's own rule, by kernel
  const std::optional<FusedRanges>& slower_fusion;
};

/// `kernels` are all of the file, the longest first.
std::vector<KernelDiagnosis> diagnose_kernels(const std::vector<CountedKernel>& kernels,
                                              const DiagnosisContext& context);

}  // namespace nl::analyze
