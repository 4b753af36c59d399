#pragma once
// What the operation `queue` answers: jobs and attempts as programs read them. Bytes that are no UTF-8, which
// JSON cannot say, are U+FFFD in the readable text, and stand beside it as base64.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lab/queue/queue_store.h"
#include "lab/queue/runner.h"

namespace nl::ops {

struct AttemptAnswer {
  int64_t attempt = 0;
  std::string end;
  std::optional<std::string> why;
  int64_t started_at_ns = 0;
  std::optional<int64_t> duration_ns, exit_code, signal;
  std::string stdout_log, stderr_log;
  std::optional<int64_t> stdout_bytes, stderr_bytes, lost_bytes;
  int64_t leftovers = 0;
  bool is_quiet = false;
  std::optional<int64_t> pid;
  static constexpr auto fields() {
    using A = AttemptAnswer;
    return std::tuple{
        field("attempt", &A::attempt, "its number, from 1"),
        field("end", &A::end,
              "running, done, failed, timeout, killed, unfit, cancelled, stopped (with its runner, as asked) "
              "or "
              "never_started (its runner was killed before)"),
        field_if_any("why", &A::why),
        field("started_at_ns", &A::started_at_ns, "since 1970"),
        field_if_any("duration_ns", &A::duration_ns, "absent: nobody saw its end"),
        field_if_any("exit_code", &A::exit_code, "128 + the signal if one ended it"),
        field_if_any("signal", &A::signal, "that ended it; 0: none"),
        field("stdout_log", &A::stdout_log, "file"),
        field("stderr_log", &A::stderr_log, "file"),
        field_if_any("stdout_bytes", &A::stdout_bytes, "written, kept or not"),
        field_if_any("stderr_bytes", &A::stderr_bytes),
        field_if_any("lost_bytes", &A::lost_bytes, "of both, that the logs do not hold"),
        field("leftovers", &A::leftovers, "processes that it left behind and that were ended"),
        field("is_quiet", &A::is_quiet, "it runs and has written nothing for long"),
        field_if_any("pid", &A::pid, "of the process that watches it while it runs: it leads their session")};
  }
};

struct JobAnswer {
  int64_t id = 0;
  std::string state;
  std::optional<std::string> why;
  std::optional<std::string> name;
  std::vector<std::string> command;
  std::optional<std::vector<std::string>> command_base64;
  bool is_script = false;
  std::string folder;
  std::optional<std::map<std::string, std::string>> environment;
  std::string device;
  std::string use;
  int64_t priority = 0;
  std::optional<int64_t> time_limit_s;
  lab::Retries retry;
  std::vector<int64_t> needs;
  int64_t added_at_ns = 0;
  std::vector<AttemptAnswer> attempts;
  static constexpr auto fields() {
    using J = JobAnswer;
    return std::tuple{
        field("id", &J::id),
        field("state", &J::state,
              "waiting, running, done, failed, cancelled or blocked (what it needs has failed)"),
        field_if_any("why", &J::why),
        field_if_any("name", &J::name),
        field("command", &J::command, "program and arguments; of a script: its text alone"),
        field_if_any("command_base64", &J::command_base64, "the same bytes, if they are no UTF-8"),
        field("is_script", &J::is_script, "run by /bin/sh -c"),
        field("folder", &J::folder, "it works in"),
        field_if_any(
            "environment", &J::environment,
            "of a job that was asked for by its id; values of names that speak of a secret are hidden"),
        field("device", &J::device),
        field("use", &J::use, "of the machine or device: alone or shared"),
        field("priority", &J::priority, "higher ones first"),
        field_if_any("time_limit_s", &J::time_limit_s),
        field("retry", &J::retry, "how often it is run again, by how an attempt ended"),
        field("needs", &J::needs, "ids of jobs that must be done before"),
        field("added_at_ns", &J::added_at_ns, "since 1970"),
        field("attempts", &J::attempts)};
  }
};

struct RunnerAnswer {
  std::string device;
  std::string user;
  int64_t pid = 0;
  int64_t since_ns = 0;
  static constexpr auto fields() {
    return std::tuple{field("device", &RunnerAnswer::device), field("user", &RunnerAnswer::user),
                      field("pid", &RunnerAnswer::pid),
                      field("since_ns", &RunnerAnswer::since_ns, "since 1970")};
  }
};

struct LogAnswer {
  int64_t job = 0;
  int64_t attempt = 0;
  std::string stdout_text, stderr_text, stdout_log, stderr_log;
  static constexpr auto fields() {
    return std::tuple{field("job", &LogAnswer::job),
                      field("attempt", &LogAnswer::attempt),
                      field("stdout", &LogAnswer::stdout_text, "its end; bytes that are no UTF-8 are U+FFFD"),
                      field("stderr", &LogAnswer::stderr_text),
                      field("stdout_log", &LogAnswer::stdout_log, "file"),
                      field("stderr_log", &LogAnswer::stderr_log, "file")};
  }
};

struct RanAnswer {
  std::string why_ended;
  int64_t done = 0, failed = 0, cancelled = 0, repeated = 0, left_waiting = 0;
  std::vector<int64_t> failed_jobs;
  static constexpr auto fields() {
    using R = RanAnswer;
    return std::tuple{field("why_ended", &R::why_ended, "empty or drained"),
                      field("done", &R::done, "jobs"),
                      field("failed", &R::failed, "jobs"),
                      field("cancelled", &R::cancelled, "jobs"),
                      field("repeated", &R::repeated, "attempts after which a job waited again"),
                      field("left_waiting", &R::left_waiting, "jobs"),
                      field("failed_jobs", &R::failed_jobs, "ids, a hundred at most")};
  }
};

struct QueueAnswer {
  std::string action;
  std::string folder;  ///< of the queue
  bool is_paused = false;
  lab::JobCounts counts;
  std::vector<RunnerAnswer> runners;
  std::optional<std::vector<int64_t>> added;
  std::optional<int64_t> changed;
  std::optional<LogAnswer> log;
  std::optional<RanAnswer> ran;
  std::vector<JobAnswer> jobs;
  static constexpr auto fields() {
    using Q = QueueAnswer;
    return std::tuple{field("action", &Q::action),
                      field("folder", &Q::folder, "of the queue"),
                      field("is_paused", &Q::is_paused, "no job starts"),
                      field("counts", &Q::counts, "jobs by state, all of the queue"),
                      field("runners", &Q::runners, "that run jobs now"),
                      field_if_any("added", &Q::added, "ids"),
                      field_if_any("changed", &Q::changed, "jobs that were cancelled or queued again"),
                      field_if_any("log", &Q::log),
                      field_if_any("ran", &Q::ran),
                      field("jobs", &Q::jobs, "that were asked for, by id")};
  }
};

/// Bytes as a text that JSON can say.
std::string readable(std::string_view bytes);
JobAnswer job_answer(const lab::Job& job, const std::string& queue_folder, bool with_environment);

}  // namespace nl::ops
