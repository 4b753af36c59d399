#include "analyze/metrics/metric.h"

#include <algorithm>

namespace nl::analyze {
namespace {

constexpr MetricInfo kRows[] = {
#define NL_SECTION(title) {{}, 0, {}, {}, {}, {}, {}, {}, title},
#define NL_METRIC(id, version, unit, direction, of, name, formula, source) \
  {#id, version, #unit, #direction, of, name, formula, source, {}},
#include "analyze/metrics/metrics.def"
#undef NL_METRIC
#undef NL_SECTION
};

/// The rows with an id, each with the section that stands before it.
constexpr std::array<MetricInfo, kMetrics> with_sections() {
  std::array<MetricInfo, kMetrics> metrics{};
  std::string_view section;
  size_t n = 0;
  for (const auto& row : kRows) {
    if (row.id.empty()) {
      section = row.section;
    } else {
      metrics[n] = row;
      metrics[n++].section = section;
    }
  }
  return metrics;
}

constexpr std::array<MetricInfo, kMetrics> kInfos = with_sections();

}  // namespace

const MetricInfo& metric_info(Metric metric) {
  return kInfos[static_cast<size_t>(metric)];
}

std::span<const MetricInfo, kMetrics> all_metrics() {
  return kInfos;
}

std::optional<Metric> find_metric(std::string_view id) {
  const auto at = std::find_if(kInfos.begin(), kInfos.end(), [&](const MetricInfo& m) { return m.id == id; });
  if (at == kInfos.end()) return std::nullopt;
  return static_cast<Metric>(at - kInfos.begin());
}

Metric class_metric(OpClass op_class) {
  constexpr size_t kFirst = static_cast<size_t>(Metric::gemm_kernel_time);
  static_assert(static_cast<size_t>(Metric::other_kernel_time) == kFirst + kOpClasses - 1);
  return static_cast<Metric>(kFirst + static_cast<size_t>(op_class));
}

MetricSet::MetricSet() : values_(kMetrics, Known<double>::absent("not computed")) {}

}  // namespace nl::analyze
