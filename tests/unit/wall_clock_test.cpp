#include "ingest/rows/wall_clock.h"

#include <gtest/gtest.h>

namespace nl::ingest {
namespace {

void expect_time(const char* text, int64_t ns, bool has_zone, int64_t resolution_ns) {
  const auto time = parse_wall_time(text);
  ASSERT_TRUE(time) << text;
  EXPECT_EQ(time->ns, ns) << text;
  EXPECT_EQ(time->has_zone, has_zone) << text;
  EXPECT_EQ(time->resolution_ns, resolution_ns) << text;
}

TEST(WallClock, ReadsTimesOfLogs) {
  // Seconds of these days: date -u -d 'TEXT' +%s
  expect_time("2025/09/08 17:26:50.123", 1757352410123000000, false, 1'000'000);
  expect_time("2025-09-08T17:26:50+08:00", 1757323610000000000, true, 1'000'000'000);
  expect_time("2025-09-08T17:26:50-0330", 1757365010000000000, true, 1'000'000'000);
  expect_time("2025-09-08T09:26:50.5Z", 1757323610500000000, true, 100'000'000);
  expect_time(" 20250908   17:26:50", 1757352410000000000, false, 1'000'000'000);
  expect_time("2024-02-29 23:59:59.123456789", 1709251199123456789, false, 1);
  expect_time("1970-01-01 00:00:00", 0, false, 1'000'000'000);
}

TEST(WallClock, ReadsUnixTimesBySize) {
  expect_time("1757323610", 1757323610000000000, true, 1'000'000'000);
  expect_time("1757323610.25", 1757323610250000000, true, 10'000'000);
  expect_time("1757323610123", 1757323610123000000, true, 1'000'000);
  expect_time("1757323610123456", 1757323610123456000, true, 1'000);
  expect_time("1757323610123456789", 1757323610123456789, true, 1);
}

TEST(WallClock, RefusesWhatIsNoTime) {
  for (const char* text :
       {"", "5", "2025/13/08 17:26:50", "2025/02/29 00:00:00", "2025/09/08", "2025/09/08 24:00:00",
        "2025/09/08 17:26", "2025/09/08 17:26:50.", "2025/09/08 17:26:50 CEST", "2025/09/08 17:26:50+99",
        "1969-12-31 23:59:59", "99999999999999999999", "noon"}) {
    EXPECT_FALSE(parse_wall_time(text)) << text;
  }
}

}  // namespace
}  // namespace nl::ingest
