#pragma once
// Exact numbers from decimal text. Times never go through double: Unix microseconds with three decimals need
// 19 significant digits, and at that size a double is only exact to 0.25 us.

#include <cstdint>
#include <string_view>

namespace nl {

/// Whole decimal integer, optional minus. False if it is anything else or does not fit.
bool parse_int64(std::string_view text, int64_t& out);

enum class DecimalParse {
  kExact,      ///< out is exactly text * 10^scale
  kTruncated,  ///< digits below the unit were cut off (towards zero)
  kBad,        ///< not a decimal number, or out of int64's range
};

/// Decimal text (sign, fraction and exponent allowed) times 10^scale as an integer; scale 3 turns us into ns.
DecimalParse parse_decimal(std::string_view text, int scale, int64_t& out);

}  // namespace nl
