// Numbers and lists as people read them.
#include "ops/text/text.h"

#include <gtest/gtest.h>

#include "base/path_text.h"

namespace nl::ops {
namespace {

TEST(Counted, OneHasNoPlural) {
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(2000, "row"), "2,000 rows");
  EXPECT_EQ(counted(1, "launch", "launches"), "1 launch");
  EXPECT_EQ(counted(3, "launch", "launches"), "3 launches");
}

const std::vector<std::string> kItems = {"compute 10 % 1.000 ms", "exposed 20 % 2.000 ms",
                                         "idle 70 % 7.000 ms"};

TEST(Listed, StaysOneLineForProgramsThatRead) {
  EXPECT_EQ(listed(kItems, "   ", "  ", {.width = 40}),
            "compute 10 % 1.000 ms   exposed 20 % 2.000 ms   idle 70 % 7.000 ms");
}

TEST(Listed, BreaksBetweenItemsOnATerminal) {
  EXPECT_EQ(listed(kItems, "   ", "  ", {.width = 50, .breaks_lines = true}),
            "compute 10 % 1.000 ms   exposed 20 % 2.000 ms\n  idle 70 % 7.000 ms");
  EXPECT_EQ(listed(kItems, ", ", "  ", {.width = 40, .breaks_lines = true}),
            "compute 10 % 1.000 ms,\n  exposed 20 % 2.000 ms,\n  idle 70 % 7.000 ms");
}

TEST(Listed, FillsALineToItsLastColumn) {
  const std::vector<std::string> two = {std::string(19, 'a'), std::string(17, 'b')};
  EXPECT_EQ(listed(two, ", ", "  ", {.width = 40, .breaks_lines = true}).find('\n'), std::string::npos);
  const std::vector<std::string> wider = {std::string(19, 'a'), std::string(18, 'b')};
  EXPECT_NE(listed(wider, ", ", "  ", {.width = 40, .breaks_lines = true}).find('\n'), std::string::npos);
}

TEST(Listed, LeavesRoomForTheSignBehindAnItem) {
  const std::vector<std::string> three = {std::string(19, 'a'), std::string(17, 'b'), "c"};
  EXPECT_EQ(listed(three, ", ", "  ", {.width = 40, .breaks_lines = true}),
            std::string(19, 'a') + ",\n  " + std::string(17, 'b') + ", c");
}

TEST(BehindColumn, NextLinesStartInTheColumn) {
  const TextStyle terminal{.width = 40, .breaks_lines = true};
  EXPECT_EQ(behind_column("a reason that is longer than the line", 12, terminal),
            "a reason that is longer than\n            the line");
  EXPECT_EQ(behind_column("short", 12, terminal), "short");
  EXPECT_EQ(behind_column("", 12, terminal), "");
  EXPECT_EQ(behind_column("a reason that is longer than the line", 12, {.width = 40}),
            "a reason that is longer than the line");
}

TEST(Listed, ColoursAndSignsTakeTheColumnsThatOneSees) {
  const TextStyle style{.color = true, .width = 40, .breaks_lines = true};
  const std::vector<std::string> two = {dim(std::string(19, 'a'), style),
                                        "█" + dim(std::string(16, 'b'), style)};
  EXPECT_EQ(listed(two, ", ", "  ", style).find('\n'), std::string::npos);
}

TEST(Listed, AnItemWiderThanTheScreenStandsAlone) {
  const std::string wide(100, 'w');
  EXPECT_EQ(listed({"a", wide, "b"}, ", ", "  ", {.width = 40, .breaks_lines = true}),
            "a,\n  " + wide + ",\n  b");
  EXPECT_EQ(listed({}, ", ", "  ", {.width = 40, .breaks_lines = true}), "");
}

TEST(BaseName, IsBehindTheLastSlash) {
  EXPECT_EQ(base_name("/a/b.json"), "b.json");
  EXPECT_EQ(base_name("b.json"), "b.json");
  EXPECT_EQ(base_name("a/"), "");
  EXPECT_EQ(base_name("a\\b"), "a\\b");
  EXPECT_EQ(foreign_base_name("C:\\a\\b.exe"), "b.exe");
  EXPECT_EQ(foreign_base_name("/a\\b/c"), "c");
  EXPECT_EQ(foreign_base_name("c"), "c");
}

}  // namespace
}  // namespace nl::ops
