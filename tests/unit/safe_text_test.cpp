#include "base/safe_text.h"

#include <gtest/gtest.h>

namespace nl {
namespace {

constexpr char kMark[] = "\xEF\xBF\xBD";

TEST(SafeText, KeepsWhatPeopleRead) {
  const std::string text = "a\tb\né 漢 😀 – “x”\n";
  EXPECT_EQ(text_for_people(text, false), text);
  EXPECT_EQ(json_for_terminals(text), text);
}

TEST(SafeText, TakesAwayWhatTerminalsObey) {
  for (const char* unsafe : {"\x1b", "\x07", "\r", "\x08", "\x7f", "\xC2\x9B", "\xC2\x80", "\xE2\x80\xAE",
                             "\xE2\x81\xA6", "\x9B", "\xFF", "\xC0", "\xED\xA0\x80"}) {
    const std::string shown = text_for_people("a" + std::string(unsafe) + "b", true);
    EXPECT_TRUE(shown.starts_with("a" + std::string(kMark))) << shown;
    EXPECT_TRUE(shown.ends_with("b")) << shown;
  }
  EXPECT_EQ(text_for_people(std::string("a\0b", 3), true), "a" + std::string(kMark) + "b");
  EXPECT_EQ(text_for_people("x\xE2\x80", true), "x" + std::string(kMark) + kMark) << "cut at its end";
}

TEST(SafeText, OnlyOurOwnStylesAreStyles) {
  const std::string bold = "\x1b[1mx\x1b[0m";
  EXPECT_EQ(text_for_people(bold, true), bold);
  EXPECT_EQ(text_for_people(bold, false), std::string(kMark) + "[1mx" + kMark + "[0m");
  EXPECT_EQ(text_for_people("\x1b[8mx", true), std::string(kMark) + "[8mx");
}

TEST(SafeText, JsonStaysTheSameDocument) {
  EXPECT_EQ(json_for_terminals("{\"a\":\"\xC2\x9B\x7F\xE2\x80\xAE\"}"), "{\"a\":\"\\u009b\\u007f\\u202e\"}");
}

}  // namespace
}  // namespace nl
