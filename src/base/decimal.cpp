#include "base/decimal.h"

#include <charconv>
#include <cstring>
#include <limits>

#include "base/text.h"

namespace nl {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

bool append_digit(uint64_t& value, char digit) {
  return !__builtin_mul_overflow(value, uint64_t{10}, &value) &&
         !__builtin_add_overflow(value, static_cast<uint64_t>(digit - '0'), &value) &&
         value <= static_cast<uint64_t>(kMax);
}

/// Eight ASCII digits as a number; false if one is something else.
bool parse_eight(const char* p, uint64_t& out) {
  uint64_t word = 0;
  std::memcpy(&word, p, 8);
  const uint64_t digits = word - 0x3030303030303030u;
  if (((digits | (digits + 0x7676767676767676u)) & 0x8080808080808080u) != 0) return false;
  const uint64_t pairs = digits * 10 + (digits >> 8);
  out = (((pairs & 0x000000FF000000FFu) * 0x000F424000000064u) +
         ((pairs >> 16 & 0x000000FF000000FFu) * 0x0000271000000001u)) >>
        32;
  return true;
}

/// Whole digits of at most 16 characters.
bool parse_whole(std::string_view text, uint64_t& out) {
  uint64_t value = 0;
  const char* p = text.data();
  size_t n = text.size();
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t eight = 0;
    if (!parse_eight(p, eight)) return false;
    value = value * 100'000'000 + eight;
  }
  for (; n > 0; p++, n--) {
    if (!is_digit(*p)) return false;
    value = value * 10 + static_cast<uint64_t>(*p - '0');
  }
  out = value;
  return true;
}

/// At most 15 whole digits and exactly three decimals: what nearly every trace holds.
bool parse_short_thousandths(std::string_view text, int64_t& out) {
  if (text.size() < 5 || text.size() > 19) return false;
  const char* const point = text.data() + text.size() - 4;
  uint64_t whole = 0;
  if (*point != '.' || !is_digit(point[1]) || !is_digit(point[2]) || !is_digit(point[3])) return false;
  if (!parse_whole(text.substr(0, text.size() - 4), whole)) return false;
  out = static_cast<int64_t>(whole * 1000 + static_cast<uint64_t>((point[1] - '0') * 100 +
                                                                  (point[2] - '0') * 10 + (point[3] - '0')));
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
