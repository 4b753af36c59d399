#pragma once
// Runs a user's program: keeps its output, limits its time, and ends everything that it started. Any thread
// may run one.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/process.h"
#include "base/result.h"

namespace nl::capture {

struct WorkloadOptions {
  std::vector<std::string> command = {};  ///< the program by path or name, and its arguments
  std::string folder = {};                ///< to work in; empty: ours
  const Environment* surroundings = &Environment::of_process();  ///< whose variables it gets
  std::vector<std::string> environment = {};                     ///< NAME=value, besides them
  int input = -1;                   ///< a descriptor that it reads; -1: it has no input
  bool ends_with_us = false;        ///< killed if we are killed; else it goes on then
  std::string artifacts = {};       ///< folder for stdout.txt and stderr.txt; made if it is not there
  int64_t output_bytes = 16 << 20;  ///< kept of each of them
  bool echo = false;                ///< what it writes is also shown on our standard error
  std::function<void(size_t bytes)> wrote = [](size_t) {};  ///< told of all that it writes, kept or not
  std::optional<std::chrono::milliseconds> time_limit = {};
  std::chrono::milliseconds grace = std::chrono::seconds(5);  ///< between being asked to end and being killed
  /// Asked some twenty times a second; an error ends the program.
  std::function<Result<void>()> watch = [] { return Result<void>(); };
};

struct WorkloadEnd {
  ProcessEnd process = {};
  int64_t started_unix_ns = 0;
  int64_t output_bytes = 0;  ///< written by it, kept or not
  int64_t error_bytes = 0;
};

/// Runs to the end. `not_found` if there is no such program; how it ended, also by its time limit, is no
/// error.
Result<WorkloadEnd> run_workload(const WorkloadOptions& options);

/// How a process ended and what it used, as artefacts and answers have it.
nlohmann::json process_json(const ProcessEnd& process);

/// The same, with what was run and what it wrote.
nlohmann::json workload_json(const WorkloadOptions& options, const WorkloadEnd& end);

}  // namespace nl::capture
