#include "analyze/budget.h"

#include <algorithm>
#include <array>
#include <set>

#include "analyze/time/idle.h"

namespace nl::analyze {
namespace {

/// Pools: idle causes, then classes of kernels, then exposed communication, then exposed copies.
constexpr size_t kComm = kIdleCauses + kOpClasses, kCopy = kComm + 1, kPools = kCopy + 1;

size_t pool_of(IdleCause cause) {
  return static_cast<size_t>(cause);
}
size_t pool_of(OpClass op_class) {
  return kIdleCauses + static_cast<size_t>(op_class);
}

using PoolSet = std::set<size_t>;

PoolSet all_idle() {
  PoolSet pools;
  for (size_t i = 0; i < kIdleCauses; i++) pools.insert(i);
  return pools;
}

PoolSet all_kernels() {
  PoolSet pools;
  for (size_t i = 0; i < kOpClasses; i++) pools.insert(pool_of(static_cast<OpClass>(i)));
  pools.erase(pool_of(OpClass::k_communication));
  return pools;
}

PoolSet host_late() {
  PoolSet pools;
  for (size_t i = 0; i < kIdleCauses; i++) {
    if (is_host_late(static_cast<IdleCause>(i))) pools.insert(i);
  }
  return pools;
}

/// What a metric is a part of; empty for figures that are no time of the window.
PoolSet pools_of(Metric metric) {
  for (size_t i = 0; i < kIdleCauses; i++) {
    if (metric == idle_metric(static_cast<IdleCause>(i))) return {i};
  }
  for (size_t i = 0; i < kOpClasses; i++) {
    if (metric == class_metric(static_cast<OpClass>(i))) return {pool_of(static_cast<OpClass>(i))};
  }
  switch (metric) {
    case Metric::idle_time:
    case Metric::longest_gap_time:
      return all_idle();
    case Metric::idle_host_late_time:
      return host_late();
    case Metric::short_gap_time: {
      PoolSet pools = host_late();
      pools.insert(pool_of(IdleCause::kLaunch));
      return pools;
    }
    case Metric::exposed_comm_time:
    case Metric::comm_time:
    case Metric::collective_wait_time:
      return {kComm};
    case Metric::exposed_copy_time:
    case Metric::h2d_time:
    case Metric::d2h_time:
    case Metric::d2d_time:
    case Metric::pageable_time:
      return {kCopy};
    case Metric::host_fp32_matrix_time:
    case Metric::one_row_matrix_time:
    case Metric::fp32_matrix_time:
    case Metric::ragged_matrix_time:
      return {pool_of(OpClass::k_gemm), pool_of(OpClass::k_conv)};
    case Metric::flash2_kernel_time:
      return {pool_of(OpClass::k_attention)};
    case Metric::cast_copy_kernel_time:
      return {pool_of(OpClass::k_memory)};
    case Metric::busy_time:
    case Metric::compute_time:
    case Metric::kernel_sum_time:
    case Metric::short_kernel_time:
    case Metric::ampere_kernel_time:
    case Metric::memory_bound_time:
    case Metric::host_op_time:  // without kernels the classes are those of ops
    case Metric::small_op_time:
    case Metric::unfused_op_time:
      return all_kernels();
    default:
      return {};
  }
}

class Budget {
 public:
  explicit Budget(const MetricSet& metrics) {
    const auto known = [&](Metric metric) { return static_cast<int64_t>(metrics.get(metric).value_or(0)); };
    for (size_t i = 0; i < kIdleCauses; i++) left_[i] = known(idle_metric(static_cast<IdleCause>(i)));
    for (size_t i = 0; i < kOpClasses; i++)
      left_[kIdleCauses + i] = known(class_metric(static_cast<OpClass>(i)));
    left_[kComm] = known(Metric::exposed_comm_time);
    left_[kCopy] = known(Metric::exposed_copy_time);
    window_ = known(Metric::total_time);
    kernels_ = known(Metric::compute_time);
  }

  /// Draws from the pools, at most what is left of them, of the compute time and of the window.
  int64_t draw(int64_t wanted, const PoolSet& pools, const std::string& rule) {
    int64_t drawn = 0;
    for (const size_t pool : pools) {
      const bool is_kernels = pool >= kIdleCauses && pool < kComm;
      int64_t take = std::min({wanted - drawn, left_[pool], window_});
      if (is_kernels) take = std::min(take, kernels_);
      if (take <= 0) continue;
      left_[pool] -= take;
      window_ -= take;
      if (is_kernels) kernels_ -= take;
      drawn += take;
      drawers_[pool].insert(rule);
    }
    return drawn;
  }

  /// Rules that have drawn from one of the pools before.
  std::set<std::string> drawers(const PoolSet& pools) const {
    std::set<std::string> all;
    for (const size_t pool : pools) all.insert(drawers_[pool].begin(), drawers_[pool].end());
    return all;
  }

 private:
  std::array<int64_t, kPools> left_{};
  std::array<std::set<std::string>, kPools> drawers_;
  int64_t window_ = 0, kernels_ = 0;
};

PoolSet pools_of(const Rule& rule) {
  PoolSet pools;
  for (const Metric metric : rule.at_stake.needed()) pools.merge(pools_of(metric));
  return pools;
}

int64_t largest_gain(const Finding& finding) {
  int64_t most = 0;
  for (const FindingSuggestion& suggestion : finding.suggestions)
    most = std::max(most, suggestion.gain_ns.value_or(0));
  return most;
}

}  // namespace

void share_budget(std::vector<Finding>& findings, const std::vector<Rule>& rules, const MetricSet& metrics) {
  Budget budget(metrics);
  for (Finding& finding : findings) {
    const auto rule =
        std::find_if(rules.begin(), rules.end(), [&](const Rule& one) { return one.id == finding.rule; });
    const PoolSet pools = pools_of(*rule);
    const std::set<std::string> earlier = budget.drawers(pools);
    const int64_t wanted = largest_gain(finding);
    finding.promised_ns = budget.draw(wanted, pools, finding.rule);
    if (finding.promised_ns < wanted) finding.shared_with.assign(earlier.begin(), earlier.end());
  }
}

}  // namespace nl::analyze
