#pragma once
// One pass over a workload, on its own or under a tool, with a budget. A pass that takes too long, writes too
// much or has stopped writing is ended together with everything it started. What it has written so far is
// kept.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "capture/run/timed_command.h"
#include "capture/run/workload.h"

namespace nl::capture {

struct PassBudget {
  std::chrono::milliseconds time = std::chrono::hours(1);
  std::chrono::milliseconds silence =
      std::chrono::minutes(10);                               ///< without any output or growth of its files
  int64_t bytes = int64_t{2} << 30;                           ///< of its files
  std::chrono::milliseconds grace = std::chrono::minutes(1);  ///< for a tool to write what it has
};

struct PassOptions {
  std::vector<std::string> tool = {};     ///< arguments before those of the command; empty: none
  std::vector<std::string> command = {};  ///< the workload
  std::string folder = {};                ///< to work in; empty: ours
  const Environment* surroundings = &Environment::of_process();  ///< whose variables it gets
  std::vector<std::string> environment = {};                     ///< NAME=value, besides them
  std::string artifacts = {};  ///< folder of this pass: its output, times and files
  bool echo = false;
  PassBudget budget = {};
  std::function<bool()> cancelled = [] { return false; };
};

struct PassEnd {
  WorkloadEnd end = {};                   ///< of the tool, with its own time
  std::optional<CommandTime> time = {};   ///< of the workload; none if it did not end
  std::optional<Error> not_started = {};  ///< why the workload could not even begin
};

/// An error only if the pass cannot be started or was cancelled.
Result<PassEnd> run_pass(const PassOptions& options);

/// The last words of the pass, for messages; from standard error, else from standard output.
std::string last_words(const std::string& artifacts);

/// Bytes of all files in a folder.
int64_t folder_bytes(const std::string& folder);

}  // namespace nl::capture
