#include "base/decimal.h"

#include <charconv>
#include <limits>

namespace nl {
namespace {

bool is_digit(char c) {
  return static_cast<unsigned char>(c - '0') < 10;
}

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

bool append_digit(uint64_t& value, char digit) {
  return !__builtin_mul_overflow(value, uint64_t{10}, &value) &&
         !__builtin_add_overflow(value, static_cast<uint64_t>(digit - '0'), &value) &&
         value <= static_cast<uint64_t>(kMax);
}

/// Up to 15 whole digits and exactly three decimals: what nearly every trace holds.
bool parse_short_thousandths(std::string_view text, int64_t& out) {
  if (text.size() < 5 || text.size() > 19 || text[text.size() - 4] != '.') return false;
  uint64_t value = 0;
  for (size_t i = 0; i < text.size(); i++) {
    if (i == text.size() - 4) continue;
    if (!is_digit(text[i])) return false;
    value = value * 10 + static_cast<uint64_t>(text[i] - '0');
  }
  out = static_cast<int64_t>(value);
  return true;
}

}  // namespace

bool parse_int64(std::string_view text, int64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

DecimalParse parse_decimal(std::string_view text, int scale, int64_t& out) {
  if (scale == 3 && parse_short_thousandths(text, out)) return DecimalParse::kExact;
  const bool negative = !text.empty() && text[0] == '-';
  size_t i = negative ? 1 : 0;
  const size_t first = i;
  while (i < text.size() && is_digit(text[i])) i++;
  const std::string_view whole = text.substr(first, i - first);
  if (whole.empty()) return DecimalParse::kBad;
  std::string_view fraction;
  if (i < text.size() && text[i] == '.') {
    const size_t start = ++i;
    while (i < text.size() && is_digit(text[i])) i++;
    fraction = text.substr(start, i - start);
    if (fraction.empty()) return DecimalParse::kBad;
  }
  int64_t exponent = 0;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    i += i + 1 < text.size() && text[i + 1] == '+' ? 2 : 1;
    if (!parse_int64(text.substr(i), exponent) || exponent > 1000 || exponent < -1000)
      return DecimalParse::kBad;
    i = text.size();
  }
  if (i != text.size()) return DecimalParse::kBad;

  // The digits before `point` make the result; what lies behind it must be zeros to be exact.
  const int64_t point = static_cast<int64_t>(whole.size()) + exponent + scale;
  const int64_t digits = static_cast<int64_t>(whole.size() + fraction.size());
  const auto digit = [&](int64_t k) {
    const auto at = static_cast<size_t>(k);
    return at < whole.size() ? whole[at] : fraction[at - whole.size()];
  };
  uint64_t value = 0;
  for (int64_t k = 0; k < point; k++) {
    if (k >= digits && value == 0) break;
    if (!append_digit(value, k < digits ? digit(k) : '0')) return DecimalParse::kBad;
  }
  bool exact = true;
  for (int64_t k = point < 0 ? 0 : point; k < digits; k++) exact = exact && digit(k) == '0';
  out = negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
  return exact ? DecimalParse::kExact : DecimalParse::kTruncated;
}

}  // namespace nl
