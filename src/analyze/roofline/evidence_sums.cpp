#include "analyze/roofline/evidence_sums.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace nl::analyze {
namespace {

constexpr std::array kStalls = {"barrier",
                                "branch_resolving",
                                "dispatch_stall",
                                "drain",
                                "gmma",
                                "imc_miss",
                                "lg_throttle",
                                "long_scoreboard",
                                "math_pipe_throttle",
                                "membar",
                                "mio_throttle",
                                "misc",
                                "no_instruction",
                                "not_selected",
                                "selected",
                                "short_scoreboard",
                                "sleeping",
                                "tex_throttle",
                                "wait"};
constexpr std::array kPipes = {"alu", "fma", "fp64", "xu"};
constexpr double kAll = 100;

/// Cycles come first: a percentage may be of the partitions of a multiprocessor, some of which stay empty if
/// blocks are small.
std::optional<double> active_pct(const Values& values) {
  const auto active = values.get("sm_active_cycles");
  const auto elapsed = values.get("elapsed_cycles");
  if (!active || !elapsed || *elapsed <= 0) return values.get("sm_active");
  return std::min(kAll, kAll * *active / *elapsed);
}

/// The resources that allow the fewest blocks on a multiprocessor; several may tie.
std::vector<std::string> occupancy_limits(const Values& values) {
  std::vector<std::string> limits;
  double fewest = INFINITY;
  for (const char* resource : {"blocks", "registers", "shared_mem", "warps"}) {
    const auto blocks = values.get(std::string("block_limit_") + resource);
    if (!blocks || *blocks > fewest) continue;
    if (*blocks < fewest) limits.clear();
    fewest = *blocks;
    limits.push_back(resource);
  }
  return limits;
}

std::optional<int64_t> whole_number(const std::optional<double>& value) {
  constexpr double kMost = 1e6;
  if (!value || !(*value >= 1 && *value < kMost)) return std::nullopt;
  return static_cast<int64_t>(std::llround(*value));
}

}  // namespace

void EvidenceSums::Mean::add(const std::optional<double>& value, double by) {
  if (!value || !std::isfinite(*value)) return;
  weighted += *value * by;
  weight += by;
}

std::optional<double> EvidenceSums::Mean::value() const {
  return weight > 0 ? std::optional(weighted / weight) : std::nullopt;
}

void EvidenceSums::add(const CountedLaunch& launch, const Values& values) {
  add_shape(launch, values);
  if (!launch.ns) return;  // not measured: its zeros are no values
  add_means(static_cast<double>(*launch.ns), values);
  add_sectors(values);
}

void EvidenceSums::add_shape(const CountedLaunch& launch, const Values& values) {
  const auto multiprocessors = whole_number(values.get("multiprocessors"));
  if (launch.ns && launch.blocks && multiprocessors && *launch.blocks < *multiprocessors) {
    small_grid_ns_ += *launch.ns;
    empty_sm_ns_ += static_cast<double>(*launch.ns) *
                    (1 - static_cast<double>(*launch.blocks) / static_cast<double>(*multiprocessors));
  }
  if (launch.ns.value_or(0) <= longest_ns_) return;
  longest_ns_ = launch.ns.value_or(0);
  longest_ = {};
  if (!launch.compute_capability.empty())
    longest_.compute_capability = std::string(launch.compute_capability);
  longest_.multiprocessors = multiprocessors;
  longest_.blocks = launch.blocks;
  longest_.block_threads = launch.block_threads;
  longest_.waves = values.get("waves");
  longest_.occupancy_limits = occupancy_limits(values);
}

void EvidenceSums::add_means(double ns, const Values& values) {
  sm_active_.add(active_pct(values), ns);
  l1_.add(values.get("l1_throughput"), ns);
  l2_.add(values.get("l2_throughput"), ns);
  for (const char* pipe : kPipes) pipes_[pipe].add(values.get(std::string("pipe_") + pipe), ns);
  double total = 0;
  for (const char* stall : kStalls) total += values.get(std::string("stall_") + stall).value_or(0);
  if (total <= 0) return;
  for (const char* stall : kStalls) {
    if (const auto cycles = values.get(std::string("stall_") + stall))
      stalls_[stall].add(*cycles / total, ns);
  }
}

void EvidenceSums::add_sectors(const Values& values) {
  const auto sectors = values.get("global_sectors");
  const auto ideal = values.get("global_sectors_ideal");
  if (sectors && ideal) {
    sectors_ += *sectors;
    ideal_sectors_ += std::min(*ideal, *sectors);
  }
  for (const char* op : {"_ld_sectors", "_st_sectors"}) {
    const auto global = values.get(std::string("global") + op);
    const auto local = values.get(std::string("local") + op);
    if (!global || !local) continue;
    global_sectors_ += *global;
    local_sectors_ += *local;
  }
}

KernelEvidence EvidenceSums::evidence() const {
  KernelEvidence out = longest_;
  out.small_grid_ns = small_grid_ns_;
  out.empty_sm_ns = static_cast<int64_t>(std::llround(empty_sm_ns_));
  out.sm_active_pct = sm_active_.value();
  out.l1_pct = l1_.value();
  out.l2_pct = l2_.value();
  if (sectors_ > 0) out.excess_sectors_share = 1 - ideal_sectors_ / sectors_;
  const double accessed = local_sectors_ + global_sectors_;
  if (accessed > 0) out.local_sectors_share = local_sectors_ / accessed;
  for (const auto& [stall, mean] : stalls_) {
    if (const auto share = mean.value()) out.stall_shares[stall] = *share;
  }
  for (const auto& [pipe, mean] : pipes_) {
    if (const auto pct = mean.value()) out.pipe_pct[pipe] = *pct;
  }
  return out;
}

}  // namespace nl::analyze
