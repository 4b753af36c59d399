#include "ops/text/figure_text.h"

#include <fmt/core.h>

#include <cmath>

#include "analyze/metrics/metric.h"
#include "base/number_text.h"

namespace nl::ops {
namespace {

constexpr double kWhole = 9e15;  // doubles below are whole numbers without gaps

std::string count_text(double value) {
  if (std::abs(value) < kWhole && value == std::nearbyint(value)) return grouped(std::llround(value));
  return fmt::format("{:.5g}", value);
}

bool is_plain_number(std::string_view metric) {
  const auto known = analyze::find_metric(metric);
  return known && analyze::metric_info(*known).of == "1";
}

}  // namespace

std::string figure_text(double value, const std::string& unit) {
  if (unit == "ns") return duration_text(std::llround(value));
  if (unit == "B") return bytes_text(std::llround(value));
  if (unit == "ratio") return percent_text(value);
  if (unit == "count") return count_text(value);
  return fmt::format("{:.5g} {}", value, unit);
}

std::string figure_text_of(std::string_view metric, double value, const std::string& unit) {
  if (is_plain_number(metric)) return fmt::format("{:.10g}", value);
  return figure_text(value, unit.empty() ? "ratio" : unit);
}

std::string evidence_text(const analyze::FindingEvidence& evidence) {
  std::string text = evidence.text;
  if (text.ends_with('.')) text.pop_back();
  if (!evidence.value) return text + ": not known, " + evidence.value.reason() + ".";
  return text + ": " + figure_text_of(evidence.of, *evidence.value, evidence.unit) + ".";
}

}  // namespace nl::ops
