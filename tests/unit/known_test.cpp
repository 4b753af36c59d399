#include "base/known.h"

#include <gtest/gtest.h>

namespace nl::analyze {
namespace {

Known<double> ratio(int64_t part, int64_t whole) {
  if (whole == 0) return Absent{"divided by nothing"};
  return static_cast<double>(part) / static_cast<double>(whole);
}

TEST(Known, HoldsAValueOrAReason) {
  const Known<int64_t> known = int64_t{0};
  const auto absent = Known<int64_t>::absent("no shapes");
  EXPECT_TRUE(known.has_value());
  EXPECT_EQ(*known, 0);
  EXPECT_EQ(known.reason(), "");
  EXPECT_FALSE(absent.has_value());
  EXPECT_EQ(absent.reason(), "no shapes");
  EXPECT_EQ(absent.value_or(7), 7);
  EXPECT_EQ(known.value_or(7), 0);
  EXPECT_FALSE(absent.optional());
}

TEST(Known, ATextIsAValueAndNoReason) {
  const Known<std::string> text = std::string("bf16");
  EXPECT_TRUE(text.has_value());
  EXPECT_EQ(*text, "bf16");
}

TEST(Known, MapAndCombineSpreadTheFirstReason) {
  const Known<int64_t> three = int64_t{3};
  const Known<int64_t> none = int64_t{0};
  const Known<int64_t> first = Absent{"first"};
  const Known<int64_t> second = Absent{"second"};
  EXPECT_EQ(*map(three, [](int64_t x) { return x * 2; }), 6);
  EXPECT_EQ(map(first, [](int64_t x) { return x * 2; }).reason(), "first");
  EXPECT_EQ(*combine(three, three, ratio), 1.0);
  EXPECT_EQ(combine(three, none, ratio).reason(), "divided by nothing");
  EXPECT_EQ(combine(first, second, ratio).reason(), "first");
  EXPECT_EQ(combine(three, second, ratio).reason(), "second");
}

}  // namespace
}  // namespace nl::analyze
