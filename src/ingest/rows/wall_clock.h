#pragma once
// Parses times of day as logs write them into integer nanoseconds. Pure functions.

#include <cstdint>
#include <optional>
#include <string_view>

namespace nl::ingest {

struct WallTime {
  int64_t ns = 0;         ///< since 1970, in UTC if has_zone, else as the clock on the wall showed it
  bool has_zone = false;  ///< the text says its zone, or is a Unix time
  int64_t resolution_ns = 1'000'000'000;
};

/// 2025/09/08 17:26:50.123, 2025-09-08T17:26:50+08:00, 20250908 17:26:50, or Unix time in s, ms, us or ns
/// (told by its size). Nothing if the text is anything else or no such day exists.
std::optional<WallTime> parse_wall_time(std::string_view text);

}  // namespace nl::ingest
