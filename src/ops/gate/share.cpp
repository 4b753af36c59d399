#include "ops/gate/share.h"

#include <fmt/core.h>

#include <charconv>

namespace nl::ops {

Result<double> parse_share(const std::string& option, const std::string& text) {
  std::string number = text;
  const bool percent = !number.empty() && number.back() == '%';
  if (percent) number.pop_back();
  while (!number.empty() && number.back() == ' ') number.pop_back();
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  const double share = percent ? value / 100 : value;
  const bool fine = error == std::errc() && end == number.data() + number.size() && share >= 0 && share <= 10;
  if (!fine)
    return Error{ErrorCode::kBadInput, fmt::format("{} must be a share, not: {}", option, text),
                 "such as 3% or 0.03"};
  return share;
}

}  // namespace nl::ops
