#pragma once
// The keeper: a process between the runner of the queue and one attempt of a job. It is this program again,
// with a special first argument, in a session of its own. It writes the logs and how the job ended, so that
// both are there though the runner was killed meanwhile. It runs nothing before it has the whole plan, and
// the runner sends that only when the record of the attempt is on the disk. When the runner is gone it ends
// the job; should it be killed itself, the job is ended by its supervisor (base/supervisor.h); and should
// that be killed, too, the next runner finds the processes by their session and their mark.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "lab/queue/job.h"

namespace nl::lab {

/// The first argument of the program when it is started as that process.
inline constexpr const char* kQueueKeeper = "--keep-queue-job";
/// What that process does: its standard input is the line to the runner.
int keep_queue_job();

/// In the environment of the keeper and all that the job starts: "<queue>.<job>.<attempt>".
inline constexpr const char* kQueueMark = "NEUROLENS_QUEUE";

/// How a keeper says that the job ended, in a file for which the room was taken before it began.
struct KeptEnd {
  int64_t exit_code = 0;
  int64_t signal = 0;
  std::string
      cut;  ///< "timeout", "cancelled", "stopped", "orphaned": why we ended it; empty: it ended itself
  std::string error;  ///< it could not be started
  int64_t duration_ns = 0;
  int64_t stdout_bytes = 0, stderr_bytes = 0, lost_bytes = 0;
  int64_t leftovers = 0;
};

/// Absent if the keeper did not come so far.
std::optional<KeptEnd> read_kept_end(const std::string& attempt_path);
/// Whether the keeper had the plan, and may have started the job.
bool has_begun(const std::string& attempt_path);
/// Takes the room for the end on the disk. `io` if there is none.
Result<void> reserve_end(const std::string& attempt_path);

/// What the keeper is told of the job.
struct KeeperPlan {
  std::string attempt_path;  ///< .out, .err and .end are made there
  std::vector<std::string> command;
  std::string folder;
  std::vector<std::string> environment;
  std::optional<int64_t> time_limit_s;
  int64_t log_bytes = 0;
  int64_t grace_ms = 0;
};

/// The runner's end of the line.
class Keeper {
 public:
  /// Starts the process; it waits for its plan. `mark`: "NAME=value", for its environment.
  static Result<Keeper> start(const std::string& mark);
  Keeper(Keeper&& other) noexcept;
  Keeper& operator=(Keeper&&) = delete;
  /// The line is cut: a job that runs is ended.
  ~Keeper();

  const ProcessId& process() const { return process_; }
  Result<void> send_plan(const KeeperPlan& plan);
  void cancel() const { say('c'); }
  void stop() const { say('s'); }
  /// Waits so long at most; true once the process has ended.
  bool is_over(std::chrono::milliseconds wait);

 private:
  Keeper(int line, ProcessId process) : line_(line), process_(std::move(process)) {}
  void say(char order) const;

  int line_;
  ProcessId process_;
  bool is_over_ = false;
};

}  // namespace nl::lab
