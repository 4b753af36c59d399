#include "ops/text/figure_text.h"

#include <fmt/core.h>

#include <cmath>

#include "base/number_text.h"

namespace nl::ops {

std::string figure_text(double value, const std::string& unit) {
  if (unit == "ns") return duration_text(std::llround(value));
  if (unit == "B") return bytes_text(std::llround(value));
  if (unit == "ratio") return percent_text(value);
  return fmt::format("{:.5g} {}", value, unit);
}

}  // namespace nl::ops
