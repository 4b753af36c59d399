#pragma once
// Metrics: each is declared once, in metrics.def. A value belongs to one device and one window. A metric that
// cannot be computed carries the reason, and every formula that uses it is absent for the same reason.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/names/op_class.h"
#include "base/described.h"
#include "base/known.h"

namespace nl::analyze {

enum class Metric : uint8_t {
#define NL_SECTION(title)
#define NL_METRIC(id, version, unit, direction, of, name, formula, source) id,
#include "analyze/metrics/metrics.def"
#undef NL_METRIC
#undef NL_SECTION
  kCount
};

inline constexpr size_t kMetrics = static_cast<size_t>(Metric::kCount);

struct MetricInfo {
  std::string_view id;
  int version;
  std::string_view unit;
  std::string_view direction;  ///< lower, higher or none is better
  std::string_view of;         ///< denominator of a ratio
  std::string_view name;
  std::string_view formula;
  std::string_view source;
  std::string_view section;
};

const MetricInfo& metric_info(Metric metric);
std::span<const MetricInfo, kMetrics> all_metrics();
std::optional<Metric> find_metric(std::string_view id);
/// The metric of a class of kernels: <class>_kernel_time.
Metric class_metric(OpClass op_class);

/// All metrics of one device in one window. What nobody set is absent and says so.
class MetricSet {
 public:
  MetricSet();
  void set(Metric metric, int64_t value) {
    values_[index(metric)] = Known<double>(static_cast<double>(value));
  }
  void set(Metric metric, Known<double> value) { values_[index(metric)] = std::move(value); }
  void absent(Metric metric, std::string reason) {
    values_[index(metric)] = Known<double>::absent(std::move(reason));
  }
  const Known<double>& get(Metric metric) const { return values_[index(metric)]; }

 private:
  static size_t index(Metric metric) { return static_cast<size_t>(metric); }
  std::vector<Known<double>> values_;
};

}  // namespace nl::analyze

namespace nl {

/// By id: {definition, unit, value or absent, coverage where it is not drawn from all of the kernel time}.
template <>
struct DescribedAs<analyze::MetricSet> {
  static void write(ValueWriter& out, const analyze::MetricSet& metrics);
  static void schema(ValueWriter& out, const char* about);
};

}  // namespace nl
