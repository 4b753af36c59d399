#pragma once
// What the queue knows of a job and of each attempt to run it, and the rules by which a job goes on when an
// attempt has ended. Plain data; no files, no processes.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/described.h"
#include "lab/machine/conditions.h"
#include "lab/machine/machine_lock.h"
#include "lab/queue/processes.h"

namespace nl::lab {

enum class JobState { kWaiting, kRunning, kDone, kFailed, kCancelled, kBlocked };
const char* job_state_name(JobState state);
std::optional<JobState> job_state_of(std::string_view name);

/// How an attempt ended.
enum class AttemptEnd {
  kRunning,       ///< not yet
  kDone,          ///< exit code 0
  kFailed,        ///< another exit code, a crash of its own, or it could not be started
  kTimeout,       ///< ended by us when its time was over
  kKilled,        ///< by a signal from outside, or with its runner, or with the machine
  kUnfit,         ///< it said by its exit code that the machine is not fit for it now
  kCancelled,     ///< ended by us, as a user asked
  kStopped,       ///< ended by us, as the runner was asked to end
  kNeverStarted,  ///< the runner was killed before the job could begin
};
const char* attempt_end_name(AttemptEnd end);
std::optional<AttemptEnd> attempt_end_of(std::string_view name);

/// How often a job is run again, by how its attempt ended.
struct Retries {
  int64_t failed = 0;
  int64_t timeout = 0;
  int64_t killed = 1;
  int64_t unfit = 3;
  static constexpr auto fields() {
    return std::tuple{field("failed", &Retries::failed), field("timeout", &Retries::timeout),
                      field("killed", &Retries::killed), field("unfit", &Retries::unfit)};
  }
};
/// "killed=3", "failed=0" … changes one of them; bad_input otherwise.
Result<void> set_retry(Retries& retries, const std::string& text);

/// What a user wants to be run. All texts are bytes without NUL.
struct JobPlan {
  std::vector<std::string> command;      ///< program and arguments; of a script: its text alone
  bool is_script = false;                ///< run by /bin/sh -c
  std::string name;                      ///< may be empty; need not be the only one of this name
  std::string folder;                    ///< to work in
  std::vector<std::string> environment;  ///< NAME=value; nothing else but what the queue adds
  std::string device = kWholeMachine;
  Use use = Use::kAlone;
  int64_t priority = 0;  ///< higher ones first
  std::optional<int64_t> time_limit_s;
  Retries retries;
  int64_t log_bytes = 16 << 20;    ///< kept of each of its two outputs
  std::vector<std::string> needs;  ///< ids or names of jobs that must be done before
};

struct Attempt {
  int64_t job = 0;
  int64_t number = 0;  ///< from 1
  AttemptEnd end = AttemptEnd::kRunning;
  std::string why;   ///< it ended so, in words; may be empty
  ProcessId runner;  ///< that started it
  ProcessId keeper;  ///< that watches it, see keeper.h; pid 0: it was not known yet
  std::string host;
  int64_t started_unix_ns = 0;
  bool is_quiet = false;  ///< it wrote nothing for so long that the runner said so
  std::optional<int64_t> duration_ns;
  std::optional<int64_t> exit_code;
  std::optional<int64_t> signal;
  std::optional<int64_t> stdout_bytes, stderr_bytes;  ///< written by it, kept or not
  std::optional<int64_t> lost_bytes;                  ///< of both, that its log does not hold
  int64_t leftovers = 0;                              ///< processes that it left behind and that were ended
};

struct Job {
  int64_t id = 0;
  JobPlan plan;
  JobState state = JobState::kWaiting;
  std::string why;  ///< it failed, was cancelled or is blocked
  bool cancel_asked = false;
  int64_t first_counted = 1;  ///< attempts before this one are forgotten by the retries: see requeue
  int64_t added_unix_ns = 0;
  std::vector<int64_t> needs;
  std::vector<Attempt> attempts;
};

/// What becomes of a job when its last attempt has ended so.
struct NextState {
  JobState state = JobState::kWaiting;
  std::string why;
};
NextState next_state(const Retries& retries, const std::vector<AttemptEnd>& counted_attempts,
                     bool cancel_asked);

/// How the end of a process is judged that nobody asked to end.
AttemptEnd end_of_exit(int64_t exit_code, int64_t signal);

/// In one line, as a shell takes it; control characters are shown as escapes.
std::string command_line(const JobPlan& plan);

/// The bytes can be kept and run: a command that is not empty, no NUL, a known device.
Result<void> check_plan(const JobPlan& plan);

}  // namespace nl::lab
