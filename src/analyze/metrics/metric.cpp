#include "analyze/metrics/metric.h"

#include <algorithm>
#include <cmath>

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

/// Share of the kernel time that the value is drawn from, where it is not all of it.
std::optional<double> metric_coverage(const MetricSet& metrics, const MetricInfo& info) {
  const auto is = [&](std::string_view start) { return info.section.starts_with(start); };
  if (is("Idle causes") || is("Launches")) return metrics.get(Metric::launch_linked_share).optional();
  if (is("Roofline")) return metrics.get(Metric::modelled_share).optional();
  return std::nullopt;
}

/// As a whole number where it is one and counts or measures something; ratios stay fractions.
void write_amount(ValueWriter& out, double value, std::string_view unit) {
  if (std::abs(value) < 9e15 && value == std::floor(value) && unit != "ratio") {
    out.integer(static_cast<int64_t>(value));
  } else {
    out.number(value);
  }
}

/// Only for the schema: the values are written from a MetricSet.
struct MetricValue {
  std::string definition = {};
  std::string unit = {};
  std::optional<double> coverage = {};
  std::optional<std::string> absent = {};
  std::optional<double> value = {};

  static constexpr auto fields() {
    using M = MetricValue;
    return std::tuple{
        field("definition", &M::definition, "id/version"), field("unit", &M::unit, "ns, B, count, ratio, …"),
        field_if_any("coverage", &M::coverage, "share of the kernel time that the value is based on"),
        field_if_any("absent", &M::absent, "why there is no value"),
        field_if_any("value", &M::value, "in its unit")};
  }
};

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

namespace nl {

void DescribedAs<analyze::MetricSet>::write(ValueWriter& out, const analyze::MetricSet& metrics) {
  out.begin_object();
  for (size_t i = 0; i < analyze::kMetrics; i++) {
    const analyze::MetricInfo& info = analyze::all_metrics()[i];
    const Known<double>& value = metrics.get(static_cast<analyze::Metric>(i));
    out.key(info.id);
    out.begin_object();
    out.key("definition");
    out.text(std::string(info.id) + "/" + std::to_string(info.version));
    out.key("unit");
    out.text(info.unit);
    if (const auto coverage = analyze::metric_coverage(metrics, info)) {
      out.key("coverage");
      out.number(*coverage);
    }
    out.key(value ? "value" : "absent");
    if (value) {
      analyze::write_amount(out, *value, info.unit);
    } else {
      out.text(value.reason());
    }
    out.end_object();
  }
  out.end_object();
}

void DescribedAs<analyze::MetricSet>::schema(ValueWriter& out, const char* about) {
  DescribedAs<std::map<std::string, analyze::MetricValue>>::schema(out, about);
}

}  // namespace nl
