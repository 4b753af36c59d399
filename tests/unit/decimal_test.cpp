#include "base/decimal.h"

#include <gtest/gtest.h>

namespace nl {
namespace {

int64_t ns(const char* us, DecimalParse expected = DecimalParse::kExact) {
  int64_t out = 0;
  EXPECT_EQ(parse_decimal(us, 3, out), expected) << us;
  return out;
}

TEST(Decimal, KeepsAllDigitsOfUnixMicroseconds) {
  EXPECT_EQ(ns("1712195495505582.988"), 1712195495505582988);
  EXPECT_EQ(ns("4458676983543.183"), 4458676983543183);
  EXPECT_EQ(ns("1695835573023613"), 1695835573023613000);
  EXPECT_EQ(ns("1428625731622.25"), 1428625731622250);
}

TEST(Decimal, TakesSignsFractionsAndExponents) {
  EXPECT_EQ(ns("0"), 0);
  EXPECT_EQ(ns("-1.5"), -1500);
  EXPECT_EQ(ns("1e3"), 1000000);
  EXPECT_EQ(ns("1.5E+2"), 150000);
  EXPECT_EQ(ns("12e-3"), 12);
  EXPECT_EQ(ns("0.000000e5"), 0);
  EXPECT_EQ(ns("9223372036854775.807"), INT64_MAX);
}

TEST(Decimal, SaysWhenDigitsBelowTheUnitAreLost) {
  EXPECT_EQ(ns("0.0001", DecimalParse::kTruncated), 0);
  EXPECT_EQ(ns("1.2345", DecimalParse::kTruncated), 1234);
  EXPECT_EQ(ns("1.2340"), 1234);
  EXPECT_EQ(ns("-1.9999", DecimalParse::kTruncated), -1999);
}

TEST(Decimal, RefusesWhatIsNotANumberOrDoesNotFit) {
  for (const char* text :
       {"", "-", ".5", "1.", "1e", "nan", "inf", "1 ", "0x1", "9223372036854775.808", "1e300", "--1"}) {
    ns(text, DecimalParse::kBad);
  }
}

TEST(Decimal, ReadsIntegers) {
  int64_t out = 0;
  EXPECT_TRUE(parse_int64("-9223372036854775808", out));
  EXPECT_EQ(out, INT64_MIN);
  for (const char* text : {"", "1.0", "9223372036854775808", "+1", " 1"})
    EXPECT_FALSE(parse_int64(text, out)) << text;
}

}  // namespace
}  // namespace nl
