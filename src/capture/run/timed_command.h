#pragma once
// Starts a command through a small process of ours that measures its wall and CPU time. The times are those
// of the command alone, even when a profiler starts it: the profiler's own time is not included. The small
// process is this program again, with a special first argument.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace nl::capture {

/// The first argument of the program when it is started as that process; then a file and the command.
inline constexpr const char* kTimedCommand = "--time-command";

/// The command by way of that process.
Result<std::vector<std::string>> timed_command(const std::string& file,
                                               const std::vector<std::string>& command);

/// What that process does: runs the command, writes its times to the file and ends as the command did.
int run_timed_command(const std::string& file, char** command);

struct CommandTime {
  int64_t start_ns = 0;  ///< of the monotonic clock
  int64_t wall_ns = 0;
  int64_t cpu_ns = 0;  ///< user and system, with that of children it waited for
  int64_t peak_memory_bytes = 0;
  int exit_code = 0;  ///< 128 + the signal if one ended it
};

/// `not_found` if there is no such program; `unavailable` if the command did not end.
Result<CommandTime> read_command_time(const std::string& file);

}  // namespace nl::capture
