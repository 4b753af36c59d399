#pragma once
// Reads numbers that profilers print for people: with thousands separators, the decimal sign of some locale,
// and words for missing values. The decimal sign is decided by evidence from many values, because 1,234 alone
// can mean either. Without evidence such a value stays unknown.

#include <cstdint>
#include <string>
#include <string_view>

namespace nl::ingest {

enum class DecimalSign { kUnknown, kPoint, kComma };

/// Gathers what values say about the decimal sign of their text.
class NumberEvidence {
 public:
  void add(std::string_view value);
  /// kUnknown without evidence, or with such for both.
  DecimalSign sign() const;
  bool contradicts() const { return point_ > 0 && comma_ > 0; }

 private:
  int64_t point_ = 0;
  int64_t comma_ = 0;
};

struct PrintedNumber {
  enum class Kind {
    kNumber,
    kAbsent,     ///< nothing, or a word such as nan, inf, n/a, no data
    kAmbiguous,  ///< a number whose decimal sign is not known, or is another than that of the text
    kText,
  };
  Kind kind = Kind::kText;
  std::string decimal = {};         ///< of kNumber: plain, with a point, without separators
  std::string_view absent = {};     ///< of kAbsent: the word as written; "empty" for nothing
  std::string_view instances = {};  ///< of kNumber: "3; 4" of "7 (3; 4)"
};

PrintedNumber read_number(std::string_view text, DecimalSign sign);

}  // namespace nl::ingest
