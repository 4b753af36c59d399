#include "base/number_text.h"

#include <fmt/core.h>

#include <cmath>

namespace nl {

std::string grouped(int64_t number) {
  std::string digits =
      std::to_string(number < 0 ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number));
  for (auto at = static_cast<int64_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<size_t>(at), ",");
  return (number < 0 ? "-" : "") + digits;
}

std::string counted(int64_t number, std::string_view one, std::string_view many) {
  const std::string plural = many.empty() ? std::string(one) + "s" : std::string(many);
  return grouped(number) + " " + (number == 1 ? std::string(one) : plural);
}

std::string duration_text(int64_t ns) {
  const auto value = static_cast<double>(ns);
  const double size = std::fabs(value);
  if (size < 1e3) return fmt::format("{} ns", ns);
  if (size < 1e6) return fmt::format("{:.3f} us", value / 1e3);
  if (size < 1e9) return fmt::format("{:.3f} ms", value / 1e6);
  return fmt::format("{:.3f} s", value / 1e9);
}

std::string signed_duration_text(int64_t ns) {
  return (ns > 0 ? "+" : "") + duration_text(ns);
}

std::string bytes_text(int64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (value < 1e3) return fmt::format("{} B", bytes);
  if (value < 1e6) return fmt::format("{:.1f} kB", value / 1e3);
  if (value < 1e9) return fmt::format("{:.1f} MB", value / 1e6);
  return fmt::format("{:.2f} GB", value / 1e9);
}

std::string percent_text(double share) {
  return fmt::format("{:.1f} %", share * 100);
}

std::string signed_percent_text(double share) {
  return (share > 0 ? "+" : "") + percent_text(share);
}

}  // namespace nl
