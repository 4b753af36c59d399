#pragma once
// Runs other programs: finds them by name, starts them without a shell, watches them, and kills them together
// with everything they started when their time is over. Any thread may call; a call only ends processes that
// it started.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/result.h"

namespace nl {

struct ProcessOptions {
  std::chrono::milliseconds time = std::chrono::minutes(1);
  size_t output_bytes = 64 << 10;  ///< of each output that is kept; the rest is read and forgotten
  std::string output_file = {};    ///< where standard output goes instead
  std::string folder = {};         ///< to work in; empty: ours
  const Environment* surroundings = &Environment::of_process();  ///< whose variables it gets
  std::vector<std::string> environment = {};                     ///< NAME=value, besides them
  int input = -1;             ///< a descriptor that it reads; -1: it has no input
  bool ends_strays = false;   ///< also what has left its group ends with it, see supervisor.h
  bool ends_with_us = false;  ///< with ends_strays: killed if we are killed
  /// Takes what the program writes (true: as errors) instead of it being kept.
  std::function<void(bool is_error, std::string_view bytes)> output = {};
  /// If not zero, a program whose time is over or whose watch gave an error is asked to end, killed so much
  /// later, and how it ended is no error.
  std::chrono::milliseconds grace = std::chrono::milliseconds(0);
  /// Asked some twenty times a second; an error ends the program.
  std::function<Result<void>()> watch = [] { return Result<void>(); };
};

struct ProcessEnd {
  int exit_code = 0;                    ///< 128 + the signal if one ended it
  int signal = 0;                       ///< that ended it
  std::optional<Error> cut_short = {};  ///< why it was asked to end
  std::string output = {};
  std::string errors = {};
  int64_t wall_ns = 0;
  int64_t user_ns = 0;  ///< CPU time, with that of its children
  int64_t system_ns = 0;
  int64_t peak_memory_bytes = 0;  ///< of the largest of its processes
  int64_t strays = 0;             ///< with ends_strays: processes that it left behind and that were ended
};

/// Runs to the end. `command[0]` is a path. `unavailable` if it took too long or could not be started.
Result<ProcessEnd> run_process(const std::vector<std::string>& command, const ProcessOptions& options);

/// What the first program of that name in PATH prints on standard output, without blanks at its ends; nothing
/// if there is none or it does not succeed within ten seconds.
std::optional<std::string> output_of(const Environment& surroundings, const std::string& program,
                                     std::vector<std::string> arguments,
                                     std::vector<std::string> environment = {});

/// Starts a program that outlives us: a session of its own, no input, its output goes nowhere. Waits only a
/// moment, for a program that fails at once: `unavailable`, as if it could not be started.
Result<void> start_detached(const Environment& surroundings, const std::vector<std::string>& command);

/// The first program of that name in the folders of PATH; a name with a slash is a path. Empty if there is
/// none.
std::string find_in_path(const Environment& surroundings, const std::string& name);

/// The path of a program: what the variable of the environment says if it is set, else the first of that name
/// in PATH; empty if there is none.
std::string find_program(const Environment& surroundings, const std::string& name, const char* variable);

}  // namespace nl
