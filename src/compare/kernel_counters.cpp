#include "compare/kernel_counters.h"

#include "analyze/roofline/launch_counters.h"
#include "assemble/launch_match.h"

namespace nl::compare {
namespace {

using nlohmann::json;

constexpr const char* kMetrics[] = {"achieved_occupancy_pct",
                                    "warp_efficiency_pct",
                                    "sm_pct",
                                    "memory_pct",
                                    "dram_pct",
                                    "dram_bytes_per_s",
                                    "l1_hit_pct",
                                    "l2_hit_pct",
                                    "tensor_pct",
                                    "ipc",
                                    "registers",
                                    "intensity",
                                    "roof_share",
                                    "sm_clock_hz"};

Result<std::map<std::string, json>> counters_by_name(analyze::LoadedRun& run) {
  std::map<std::string, json> by_name;
  NL_TRY(const json counters, launch_counters(run.connection, run.files, run.sources.document["hardware"],
                                              run.sources.peaks, INT64_MAX));
  if (counters.is_null()) return by_name;
  for (const json& row : counters["kernels"])
    by_name[assemble::spelled_alike(row["kernel"].get<std::string>())] = row;
  return by_name;
}

std::optional<double> measured(const json* kernel, const char* metric) {
  const json value = kernel == nullptr ? json(nullptr) : kernel->value(metric, json(nullptr));
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

}  // namespace

Result<void> KernelCounters::read(analyze::LoadedRun& base, analyze::LoadedRun& next) {
  NL_TRY(base_, counters_by_name(base));
  NL_TRY(next_, counters_by_name(next));
  return {};
}

const json* KernelCounters::find(const ByName& kernels, const std::vector<uint32_t>& names) const {
  for (const uint32_t name : names) {
    const auto it = kernels.find(assemble::spelled_alike(texts_[name]));
    if (it != kernels.end()) return &it->second;
  }
  return nullptr;
}

std::vector<CounterRow> KernelCounters::beside(const std::vector<uint32_t>& base_names,
                                               const std::vector<uint32_t>& next_names) const {
  std::vector<CounterRow> rows;
  const json *base = find(base_, base_names), *next = find(next_, next_names);
  for (const char* metric : kMetrics) {
    CounterRow row{metric, measured(base, metric), measured(next, metric), std::nullopt};
    if (!row.base && !row.next) continue;
    if (row.base && row.next) row.delta = *row.next - *row.base;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace nl::compare
