#pragma once
// Converts the units of counter profilers to base units: times to ns, sizes to B, rates to per second. The
// factor is always a power of ten, so a value can be scaled in its decimal text without rounding twice.

#include <optional>
#include <string>
#include <string_view>

namespace nl::ingest {

struct BaseUnit {
  std::string unit;  ///< ns, B, Hz, %, 1, another word of the source, or two of them with / between
  int exponent = 0;  ///< value in the base unit = value in the source's unit * 10^exponent
};

/// Words of every version of Nsight Compute: msecond and ms, Kbyte, cycle/nsecond and Ghz, sector/second.
/// Prefixes are decimal. No unit is 1.
BaseUnit base_unit(std::string_view source);

/// Decimal text times 10^exponent, rounded once; nothing if the text is not a decimal number.
std::optional<double> scaled_double(std::string_view decimal, int exponent);

/// Digits behind the point.
int decimals_of(std::string_view decimal);

}  // namespace nl::ingest
