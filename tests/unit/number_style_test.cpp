#include "ingest/rows/number_style.h"

#include <gtest/gtest.h>

#include "ingest/rows/metric_unit.h"

namespace nl::ingest {
namespace {

using Kind = PrintedNumber::Kind;

DecimalSign sign_of(std::initializer_list<const char*> values) {
  NumberEvidence evidence;
  for (const char* value : values) evidence.add(value);
  return evidence.sign();
}

TEST(NumberStyle, EvidenceTellsTheDecimalSign) {
  EXPECT_EQ(sign_of({"0.44"}), DecimalSign::kPoint);
  EXPECT_EQ(sign_of({"48,97"}), DecimalSign::kComma);
  EXPECT_EQ(sign_of({"1,234", "4,483,626"}), DecimalSign::kPoint);
  EXPECT_EQ(sign_of({"1.234.567"}), DecimalSign::kComma);
  EXPECT_EQ(sign_of({"1,234.5"}), DecimalSign::kPoint);
  EXPECT_EQ(sign_of({"1.234,5"}), DecimalSign::kComma);
  EXPECT_EQ(sign_of({"0,123"}), DecimalSign::kComma);
  EXPECT_EQ(sign_of({"12345.678"}), DecimalSign::kPoint);
  EXPECT_EQ(sign_of({"1,234", "5", "nan", "text, more", "1,23,4"}), DecimalSign::kUnknown);
  EXPECT_EQ(sign_of({"0.44", "48,97"}), DecimalSign::kUnknown);
}

std::string number(const char* text, DecimalSign sign) {
  const PrintedNumber read = read_number(text, sign);
  switch (read.kind) {
    case Kind::kNumber:
      return read.decimal;
    case Kind::kAbsent:
      return "absent " + std::string(read.absent);
    case Kind::kAmbiguous:
      return "ambiguous";
    default:
      return "text";
  }
}

TEST(NumberStyle, ReadsWithAKnownSign) {
  EXPECT_EQ(number("4,483,626", DecimalSign::kPoint), "4483626");
  EXPECT_EQ(number("1,234", DecimalSign::kPoint), "1234");
  EXPECT_EQ(number("1,234", DecimalSign::kComma), "1.234");
  EXPECT_EQ(number("-1.234,50", DecimalSign::kComma), "-1234.50");
  EXPECT_EQ(number("48,97", DecimalSign::kPoint), "ambiguous");
  EXPECT_EQ(number("1,234", DecimalSign::kUnknown), "ambiguous");
  EXPECT_EQ(number("1.234", DecimalSign::kUnknown), "ambiguous");
  EXPECT_EQ(number("48,97", DecimalSign::kUnknown), "48.97");
  EXPECT_EQ(number(" 42 ", DecimalSign::kUnknown), "42");
  EXPECT_EQ(number("1.5e-3", DecimalSign::kPoint), "1.5e-3");
  EXPECT_EQ(number("12 345 678", DecimalSign::kPoint), "12345678");
  EXPECT_EQ(number("7 (3; 4)", DecimalSign::kPoint), "7");
}

TEST(NumberStyle, TellsAbsenceFromText) {
  for (const char* word : {"nan", "-nan", "inf", "n/a", "N/A", "no data", "[Not Supported]"})
    EXPECT_EQ(number(word, DecimalSign::kPoint), std::string("absent ") + word);
  EXPECT_EQ(number("", DecimalSign::kPoint), "absent empty");
  for (const char* text : {"1,23,456", "12 34", "1..2", ".", "-", "+", "1e", "e5", "0x10", "12%", "1.2.3"}) {
    EXPECT_EQ(number(text, DecimalSign::kPoint), std::string_view(text) == "-" ? "absent -" : "text") << text;
  }
}

TEST(MetricUnit, BringsUnitsToTheirBase) {
  const auto is = [](const char* source, const char* unit, int exponent) {
    const BaseUnit base = base_unit(source);
    EXPECT_EQ(base.unit, unit) << source;
    EXPECT_EQ(base.exponent, exponent) << source;
  };
  is("", "1", 0);
  is("%", "%", 0);
  is("nsecond", "ns", 0);
  is("us", "ns", 3);
  is("msecond", "ns", 6);
  is("second", "ns", 9);
  is("Kbyte", "B", 3);
  is("Tbyte/second", "B/s", 12);
  is("Mbyte/s", "B/s", 6);
  is("Kbyte/block", "B/block", 3);
  is("byte/cycle", "B/cycle", 0);
  is("cycle/nsecond", "Hz", 9);
  is("cycle/second", "Hz", 0);
  is("Ghz", "Hz", 9);
  is("sector/usecond", "sector/s", 6);
  is("block/nsecond", "block/s", 9);
  is("sectors", "sector", 0);
  is("register/thread", "register/thread", 0);
  is("inst/cycle", "inst/cycle", 0);
}

TEST(MetricUnit, ScalesInDecimalText) {
  EXPECT_EQ(scaled_double("1.51", 9), 1.51e9);
  EXPECT_EQ(scaled_double("0.000006", 9), 6000.0);
  EXPECT_EQ(scaled_double("3400.123457", 9), 3400123457000.0);
  EXPECT_EQ(scaled_double("1.5e-3", 12), 1.5e9);
  EXPECT_EQ(scaled_double("1e400", 0), std::nullopt);
  EXPECT_EQ(scaled_double("abc", 0), std::nullopt);
  EXPECT_EQ(decimals_of("1.510"), 3);
  EXPECT_EQ(decimals_of("15"), 0);
}

}  // namespace
}  // namespace nl::ingest
