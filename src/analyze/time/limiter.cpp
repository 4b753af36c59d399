#include "analyze/time/limiter.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyze/time/idle.h"

namespace nl::analyze {
namespace {

int64_t known_ns(const MetricSet& metrics, Metric metric) {
  return static_cast<int64_t>(metrics.get(metric).value_or(0));
}

/// The class of kernels, or of ops, with the largest sum, and its share of all sums.
std::string compute_words(const MetricSet& metrics, bool is_host) {
  OpClass top = OpClass::k_other;
  int64_t top_ns = 0, sum = 0;
  for (size_t i = 0; i < kOpClasses; i++) {
    const auto op_class = static_cast<OpClass>(i);
    if (op_class == OpClass::k_communication) continue;
    const int64_t ns = known_ns(metrics, class_metric(op_class));
    sum += ns;
    if (ns <= top_ns) continue;
    top = op_class;
    top_ns = ns;
  }
  const std::string what = is_host ? "ops on the host" : "kernels on the device";
  if (sum == 0) return what;
  return fmt::format("{}, mostly {} ({:.1f} % of their sum)", what, op_class_name(top),
                     100.0 * static_cast<double>(top_ns) / static_cast<double>(sum));
}

/// Which way most of the copies go.
std::string copy_words(const MetricSet& metrics) {
  const std::pair<int64_t, const char*> ways[] = {
      {known_ns(metrics, Metric::h2d_time), "from host to device"},
      {known_ns(metrics, Metric::d2h_time), "from device to host"},
      {known_ns(metrics, Metric::d2d_time), "inside the device or between devices"}};
  const auto most = std::max_element(std::begin(ways), std::end(ways),
                                     [](const auto& a, const auto& b) { return a.first < b.first; });
  const std::string words = "copies while nothing else runs";
  return most->first == 0 ? words : words + ", most of them " + most->second;
}

/// Causes that mean the same to whoever must act: the host does not launch fast enough.
bool is_slow_host(IdleCause cause) {
  switch (cause) {
    case IdleCause::kHostCall:
    case IdleCause::kHostOp:
    case IdleCause::kHostOther:
    case IdleCause::kLaunch:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::vector<Limiter> limiters(const MetricSet& metrics, bool is_host) {
  std::vector<Limiter> list = {
      {"compute", known_ns(metrics, Metric::compute_time), 0, compute_words(metrics, is_host)},
      {"exposed_comm", known_ns(metrics, Metric::exposed_comm_time), 0,
       "communication while no compute runs"},
      {"exposed_copy", known_ns(metrics, Metric::exposed_copy_time), 0, copy_words(metrics)},
      {"host", 0, 0, "the device waits for the host to launch: ops, interpreter and launch calls"}};
  Limiter& host = list.back();
  std::vector<Limiter> idle;
  for (size_t i = 0; i < kIdleCauses; i++) {
    const auto cause = static_cast<IdleCause>(i);
    const int64_t ns = known_ns(metrics, idle_metric(cause));
    if (is_slow_host(cause)) {
      host.time_ns += ns;
    } else {
      idle.push_back({std::string(idle_cause_name(cause)), ns, 0, std::string(idle_cause_words(cause))});
    }
  }
  list.insert(list.end(), idle.begin(), idle.end());
  std::erase_if(list, [](const Limiter& limiter) { return limiter.time_ns == 0; });
  std::stable_sort(list.begin(), list.end(),
                   [](const Limiter& a, const Limiter& b) { return a.time_ns > b.time_ns; });
  const auto window = static_cast<double>(known_ns(metrics, Metric::total_time));
  for (Limiter& limiter : list) limiter.share = static_cast<double>(limiter.time_ns) / window;
  return list;
}

}  // namespace nl::analyze
