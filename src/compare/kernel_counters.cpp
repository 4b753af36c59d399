#include "compare/kernel_counters.h"

#include "analyze/names/stated_name.h"
#include "analyze/roofline/launch_counters.h"
#include "assemble/launch_match.h"

namespace nl::compare {
namespace {

using analyze::CountedKernel;

constexpr struct {
  const char* name;
  std::optional<double> CountedKernel::*value;
} kMetrics[] = {{"achieved_occupancy_pct", &CountedKernel::achieved_occupancy_pct},
                {"warp_efficiency_pct", &CountedKernel::warp_efficiency_pct},
                {"sm_pct", &CountedKernel::sm_pct},
                {"memory_pct", &CountedKernel::memory_pct},
                {"dram_pct", &CountedKernel::dram_pct},
                {"dram_bytes_per_s", &CountedKernel::dram_bytes_per_s},
                {"l1_hit_pct", &CountedKernel::l1_hit_pct},
                {"l2_hit_pct", &CountedKernel::l2_hit_pct},
                {"tensor_pct", &CountedKernel::tensor_pct},
                {"ipc", &CountedKernel::ipc},
                {"registers", &CountedKernel::registers},
                {"intensity", &CountedKernel::intensity},
                {"roof_share", &CountedKernel::roof_share},
                {"sm_clock_hz", &CountedKernel::sm_clock_hz}};

Result<std::map<std::string, CountedKernel>> counters_by_name(analyze::LoadedRun& run) {
  std::map<std::string, CountedKernel> by_name;
  NL_TRY(auto counters,
         launch_counters(*run.open, run.sources.document["hardware"], run.sources.peaks, INT64_MAX));
  if (!counters) return by_name;
  for (CountedKernel& row : counters->kernels)
    by_name[assemble::spelled_alike(analyze::without_statement(row.kernel))] = std::move(row);
  return by_name;
}

}  // namespace

Result<void> KernelCounters::read(analyze::LoadedRun& base, analyze::LoadedRun& next) {
  NL_TRY(base_, counters_by_name(base));
  NL_TRY(next_, counters_by_name(next));
  return {};
}

const CountedKernel* KernelCounters::find(const ByName& kernels, const std::vector<uint32_t>& names) const {
  for (const uint32_t name : names) {
    const auto it = kernels.find(assemble::spelled_alike(texts_[name]));
    if (it != kernels.end()) return &it->second;
  }
  return nullptr;
}

std::vector<CounterRow> KernelCounters::beside(const std::vector<uint32_t>& base_names,
                                               const std::vector<uint32_t>& next_names) const {
  std::vector<CounterRow> rows;
  const CountedKernel *base = find(base_, base_names), *next = find(next_, next_names);
  for (const auto& [name, value] : kMetrics) {
    CounterRow row{name, base ? base->*value : std::nullopt, next ? next->*value : std::nullopt,
                   std::nullopt};
    if (!row.base && !row.next) continue;
    if (row.base && row.next) row.delta = *row.next - *row.base;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace nl::compare
