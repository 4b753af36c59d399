#include "lab/queue/runner.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <thread>

#include "base/call_control.h"
#include "base/files.h"
#include "base/host_name.h"
#include "base/live_lines.h"
#include "base/number_text.h"
#include "capture/run/host.h"
#include "lab/queue/attempt_log.h"
#include "lab/queue/keeper.h"
#include "lab/queue/state_folder.h"

namespace nl::lab {
namespace {

using Steady = std::chrono::steady_clock;

constexpr auto kLookEvery = std::chrono::milliseconds(200);
constexpr auto kPatienceWithDisk = std::chrono::seconds(10);
constexpr size_t kMostFailedJobs = 100;

Result<void> make_own_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return errno_error("cannot create folder", path, errno);
}

std::string lock_path(const QueueStore& store, const std::string& device) {
  return store.folder() + "/locks/" + device;
}

std::string device_words(const std::string& device) {
  return device == kWholeMachine ? "the machine" : device;
}

/// Two runners of one device would disturb each other's jobs.
Result<NamedLock> take_place(const QueueStore& store, const std::string& device) {
  NL_CHECK(make_own_folder(store.folder() + "/locks"));
  auto lock = NamedLock::take(lock_path(store, device), Use::kAlone, "the queue", "queue run",
                              std::chrono::milliseconds(0));
  if (lock || lock.error().code != ErrorCode::kConflict) return lock;
  return Error{ErrorCode::kConflict,
               fmt::format("the jobs for {} are run already by {}", device_words(device),
                           holder_text(runner_of(store, device))),
               "let it run, and look at it with {}; or end it with {}",
               {{"queue", R"({"action": "watch"})"}, {"queue", R"({"action": "drain"})"}}};
}

/// The words of a message, without the path that says it once more.
std::string short_command(const Job& job) {
  constexpr size_t kMost = 60;
  const std::string text = job.plan.name.empty() ? command_line(job.plan) : job.plan.name;
  size_t end = std::min(text.size(), kMost);
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) end--;
  return end < text.size() ? text.substr(0, end) + "…" : text;
}

std::string exit_words(const Attempt& attempt) {
  if (attempt.signal.value_or(0) != 0) return fmt::format("signal {}", *attempt.signal);
  return attempt.exit_code ? fmt::format("exit {}", *attempt.exit_code) : "no exit";
}

/// How an attempt that is over is to be called.
struct Judgement {
  AttemptEnd end = AttemptEnd::kKilled;
  std::string why;
};

/// Whether the job wrote something lately.
class Silence {
 public:
  explicit Silence(std::chrono::seconds limit) : limit_(limit) {}
  void look(int64_t size) {
    if (size == size_) return;
    size_ = size;
    since_ = Steady::now();
  }
  bool is_long() const { return limit_.count() > 0 && Steady::now() - since_ > limit_; }
  int64_t ns() const { return std::chrono::nanoseconds(Steady::now() - since_).count(); }

 private:
  const std::chrono::seconds limit_;
  int64_t size_ = -1;
  Steady::time_point since_ = Steady::now();
};

class Runner {
 public:
  Runner(QueueStore& store, const RunnerOptions& options, ProcessId self)
      : store_(store), options_(options), self_(std::move(self)), host_(host_name()) {}

  Result<RunnerEnd> run() {
    NL_TRY(const int64_t drains, store_.drains());
    NL_CHECK(settle_lost_attempts());
    for (;;) {
      NL_CHECK(check_cancelled());
      NL_TRY(const int64_t drains_now, store_.drains());
      if (drains_now != drains) return ended("drained");
      NL_TRY(const bool is_paused, store_.is_paused());
      if (is_paused) {
        rest("the queue is paused");
        continue;
      }
      NL_TRY(auto job, store_.next(options_.device, resting_jobs()));
      if (job) {
        NL_CHECK(run_when_free(*job));
        continue;
      }
      NL_TRY(const bool waits, store_.waits_for_others(options_.device));
      if (options_.until_empty && resting_.empty() && !waits) return ended("empty");
      rest(resting_.empty() ? "waiting for jobs" : "waiting until the machine is fit");
    }
  }

 private:
  // ---- What a runner that was killed has left

  Result<void> settle_lost_attempts() {
    NL_TRY(const auto lost, store_.open_attempts(options_.device));
    for (Attempt attempt : lost) {
      NL_TRY(const auto jobs, store_.jobs({attempt.job}));
      const std::string path = path_of(attempt);
      const bool same_boot = attempt.runner.boot_id == self_.boot_id;
      if (same_boot) {
        say_line(fmt::format("job {}: its runner was killed; what it left is ended", attempt.job));
        wait_for_keeper(attempt.keeper);
        NL_CHECK(end_what_is_left(attempt));
      }
      const std::string why = same_boot ? "its runner was killed" : "the machine was restarted";
      NL_CHECK(finish(jobs.front(), attempt, read_kept_end(path),
                      attempt.keeper.pid > 0 && (has_begun(path) || !same_boot), why));
    }
    return {};
  }

  /// It ends the job by itself, and writes down how, since its line was cut.
  void wait_for_keeper(const ProcessId& keeper) const {
    const auto end = Steady::now() + options_.grace + std::chrono::seconds(3);
    while (keeper.pid > 0 && is_alive(keeper) && Steady::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  Result<void> end_what_is_left(Attempt& attempt) const {
    NL_TRY(const auto ended,
           end_processes({mark_of(attempt), attempt.keeper}, std::chrono::milliseconds(500)));
    attempt.leftovers += ended.ended;
    for (const int64_t pid : ended.doubtful)
      say_line(
          fmt::format("job {}: process {} may be of it, which nobody can tell: it is left alone; look at it",
                      attempt.job, pid));
    return {};
  }

  // ---- One attempt

  /// Another user, or a measurement by hand, may have the machine now.
  Result<void> run_when_free(const Job& job) {
    const std::string purpose = fmt::format("queue job {} {}", job.id, short_command(job));
    const auto machine = MachineLock::take(*options_.surroundings, options_.device, job.plan.use, purpose,
                                           std::chrono::milliseconds(0));
    if (machine) {
      waits_for_.clear();
      return run_attempt(job);
    }
    if (machine.error().code != ErrorCode::kConflict) return machine.error();
    if (waits_for_ != machine.error().message)
      say_line(fmt::format("job {} waits: {}", job.id, machine.error().message));
    waits_for_ = machine.error().message;
    rest(waits_for_);
    return {};
  }

  Result<void> run_attempt(const Job& job) {
    NL_TRY(Attempt attempt, new_attempt(job));
    const std::string path = path_of(attempt);
    NL_TRY(const bool is_begun, store_.begin_attempt(attempt));
    if (!is_begun) {
      ::unlink((path + ".end").c_str());
      return {};
    }
    auto keeper = start_keeper(attempt);
    if (!keeper) {
      NL_CHECK(finish(job, attempt, std::nullopt, false, keeper.error().message));
      return keeper.error();
    }
    // If this fails, the keeper was killed, which is seen below.
    static_cast<void>(keeper->send_plan(plan_of_attempt(job, attempt)));
    watch(job, attempt, *keeper);
    const auto end = read_kept_end(path);
    if (!end) NL_CHECK(end_what_is_left(attempt));
    return finish(job, attempt, end, has_begun(path), "the process that watched it was killed");
  }

  Result<Attempt> new_attempt(const Job& job) const {
    Attempt attempt;
    attempt.job = job.id;
    NL_TRY(attempt.number, store_.next_number(job.id));
    attempt.runner = self_;
    attempt.host = host_;
    attempt.started_unix_ns = wall_clock_ns();
    const std::string path = path_of(attempt);
    NL_CHECK(make_own_folder(store_.folder() + "/queue-logs"));
    NL_CHECK(make_own_folder(path.substr(0, path.rfind('/'))));
    NL_CHECK(reserve_end(path));
    return attempt;
  }

  /// Its name is on the disk before it gets its plan: so it can be found, whatever happens to us.
  Result<Keeper> start_keeper(Attempt& attempt) const {
    NL_TRY(Keeper keeper, Keeper::start(mark_of(attempt)));
    attempt.keeper = keeper.process();
    NL_CHECK(store_.set_keeper(attempt));
    return keeper;
  }

  KeeperPlan plan_of_attempt(const Job& job, const Attempt& attempt) const {
    KeeperPlan plan;
    plan.attempt_path = path_of(attempt);
    plan.command = job.plan.command;
    if (job.plan.is_script) plan.command = {"/bin/sh", "-c", job.plan.command[0]};
    plan.folder = job.plan.folder;
    plan.environment = job.plan.environment;
    plan.environment.push_back(fmt::format("NEUROLENS_JOB={}", job.id));
    plan.environment.push_back(fmt::format("NEUROLENS_ATTEMPT={}", attempt.number));
    plan.environment.push_back(mark_of(attempt));
    const std::string locks = options_.surroundings->get(kLocksVariable);
    if (!locks.empty()) plan.environment.push_back(fmt::format("{}={}", kLocksVariable, locks));
    // What the job measures is measured under the lock of this runner.
    if (job.plan.use == Use::kAlone)
      plan.environment.push_back(fmt::format("{}={}", kHolderVariable, self_.pid));
    plan.time_limit_s = job.plan.time_limit_s;
    plan.log_bytes = job.plan.log_bytes;
    plan.grace_ms = options_.grace.count();
    return plan;
  }

  void watch(const Job& job, Attempt& attempt, Keeper& keeper) {
    Silence silence(options_.quiet_after);
    bool is_stopped = false, is_cancelled_by_user = false;
    const auto begin = Steady::now();
    while (!keeper.is_over(kLookEvery)) {
      if (!is_stopped && is_cancelled()) {
        is_stopped = true;
        keeper.stop();
      }
      const auto asked = store_.is_cancel_asked(job.id);  // if it cannot be read now: the next time
      if (!is_cancelled_by_user && asked && *asked) {
        is_cancelled_by_user = true;
        keeper.cancel();
      }
      look_for_silence(attempt, silence);
      show(job, Steady::now() - begin, attempt.is_quiet ? silence.ns() : 0);
    }
  }

  void look_for_silence(Attempt& attempt, Silence& silence) {
    const std::string path = path_of(attempt);
    silence.look(log_size(path + ".out") + log_size(path + ".err"));
    if (silence.is_long() == attempt.is_quiet) return;
    attempt.is_quiet = !attempt.is_quiet;
    static_cast<void>(store_.set_quiet(attempt));  // only shown
    say_line(attempt.is_quiet ? fmt::format("stalls    job {} has written nothing for {}; its log: {}.out",
                                            attempt.job, duration_text(silence.ns()), path)
                              : fmt::format("goes on   job {} writes again", attempt.job));
  }

  // ---- How it ended

  static Judgement judge(const std::optional<KeptEnd>& end, bool may_have_run, const std::string& lost_why) {
    if (!end) return {may_have_run ? AttemptEnd::kKilled : AttemptEnd::kNeverStarted, lost_why};
    if (end->cut == "timeout") return {AttemptEnd::kTimeout, "its time was over"};
    if (end->cut == "cancelled") return {AttemptEnd::kCancelled, "as a user asked"};
    if (end->cut == "stopped") return {AttemptEnd::kStopped, "the runner was asked to end"};
    if (!end->cut.empty()) return {AttemptEnd::kKilled, "its runner was killed"};
    if (!end->error.empty()) return {AttemptEnd::kFailed, end->error};
    return {end_of_exit(end->exit_code, end->signal), ""};
  }

  Result<void> finish(const Job& job, Attempt& attempt, const std::optional<KeptEnd>& end, bool may_have_run,
                      const std::string& lost_why) {
    const std::string path = path_of(attempt);
    const Judgement judged = judge(end, may_have_run, lost_why);
    attempt.end = judged.end;
    attempt.why = judged.why;
    if (end) {
      attempt.leftovers += end->leftovers;
      attempt.stdout_bytes = end->stdout_bytes;
      attempt.stderr_bytes = end->stderr_bytes;
      attempt.lost_bytes = end->lost_bytes;
    }
    if (end && end->error.empty()) {
      attempt.duration_ns = end->duration_ns;
      attempt.exit_code = end->exit_code;
      attempt.signal = end->signal;
    }
    for (const char* const log : {".out", ".err"})
      static_cast<void>(
          join_log(path + log, -1));  // of a keeper that was killed; else there is nothing to do
    NL_TRY(const NextState next, write_end_down(attempt));
    ::unlink((path + ".end").c_str());
    count(job, attempt, next);
    return {};
  }

  /// The file with the end stays until the queue has it, so that giving up loses nothing.
  Result<NextState> write_end_down(const Attempt& attempt) const {
    const auto end = Steady::now() + kPatienceWithDisk;
    bool is_said = false;
    for (;;) {
      auto next = store_.end_attempt(attempt);
      if (next || Steady::now() > end) return next;
      if (!is_said)
        say_line(fmt::format("job {} has ended, which cannot be written down yet: {}", attempt.job,
                             next.error().message));
      is_said = true;
      std::this_thread::sleep_for(kLookEvery);
    }
  }

  void count(const Job& job, const Attempt& attempt, const NextState& next) {
    std::string fate;
    switch (next.state) {
      case JobState::kDone:
        end_.done++;
        break;
      case JobState::kFailed:
        end_.failed++;
        if (end_.failed_jobs.size() < kMostFailedJobs) end_.failed_jobs.push_back(job.id);
        break;
      case JobState::kCancelled:
        end_.cancelled++;
        break;
      default:
        end_.repeated++;
        fate = "; it waits to run again";
        if (attempt.end == AttemptEnd::kUnfit) resting_[job.id] = Steady::now() + options_.unfit_pause;
    }
    const std::string took = attempt.duration_ns ? ", " + duration_text(*attempt.duration_ns) : "";
    const std::string why = attempt.why.empty() ? "" : ": " + attempt.why;
    say_line(fmt::format("{:<9} job {} attempt {}  {}{}{}{}  {}.out  {}", attempt_end_name(attempt.end),
                         job.id, attempt.number, exit_words(attempt), took, why, fate, path_of(attempt),
                         short_command(job)));
  }

  // ---- Between the jobs

  std::vector<int64_t> resting_jobs() {
    std::vector<int64_t> ids;
    std::erase_if(resting_, [](const auto& one) { return one.second <= Steady::now(); });
    for (const auto& [id, until] : resting_) ids.push_back(id);
    return ids;
  }

  void rest(const std::string& why) const {
    report_progress(why, 0);
    std::this_thread::sleep_for(kLookEvery);
  }

  Result<RunnerEnd> ended(const std::string& why) {
    NL_TRY(const JobCounts counts, store_.counts(options_.device));
    end_.why = why;
    end_.left_waiting = counts.waiting;
    return end_;
  }

  void show(const Job& job, Steady::duration running, int64_t quiet_ns) {
    if (Steady::now() - looked_ > std::chrono::seconds(1)) {
      looked_ = Steady::now();
      if (const auto counts = store_.counts(options_.device)) counts_ = *counts;
      if (const auto usual = store_.usual_duration_ns()) usual_ns_ = *usual;
    }
    const int64_t ended = counts_.done + counts_.failed + counts_.cancelled + counts_.blocked;
    std::string text = fmt::format("job {}, {} to go", job.id, counts_.waiting);
    if (usual_ns_) {
      const int64_t of_this = std::max<int64_t>(0, *usual_ns_ - std::chrono::nanoseconds(running).count());
      text += ", " + rough_duration(of_this + counts_.waiting * *usual_ns_) + " left";
    }
    if (quiet_ns > 0) text = fmt::format("job {} silent for {}", job.id, rough_duration(quiet_ns));
    const auto whole = static_cast<double>(std::max<int64_t>(1, counts_.total()));
    report_progress(text, static_cast<double>(ended) / whole);
  }

  std::string path_of(const Attempt& attempt) const {
    return attempt_path(store_.folder(), attempt.job, attempt.number);
  }
  std::string mark_of(const Attempt& attempt) const {
    return fmt::format("{}={}.{}.{}", kQueueMark, store_.id(), attempt.job, attempt.number);
  }

  QueueStore& store_;
  const RunnerOptions& options_;
  const ProcessId self_;
  const std::string host_;
  RunnerEnd end_;
  std::map<int64_t, Steady::time_point> resting_;  ///< jobs that found the machine unfit, and until when
  std::string waits_for_;
  JobCounts counts_;
  std::optional<int64_t> usual_ns_;
  Steady::time_point looked_ = {};
};

}  // namespace

std::string rough_duration(int64_t ns) {
  const int64_t seconds = ns / 1'000'000'000;
  if (seconds < 90) return fmt::format("{} s", seconds);
  if (seconds < 5400) return fmt::format("{} min", (seconds + 30) / 60);
  return fmt::format("{} h {} min", seconds / 3600, seconds % 3600 / 60);
}

std::optional<LockHolder> runner_of(const QueueStore& store, const std::string& device) {
  return NamedLock::holder(lock_path(store, device));
}

Result<RunnerEnd> run_queue(QueueStore& store, const RunnerOptions& options) {
  if (!is_device_name(options.device))
    return Error{ErrorCode::kBadInput, "not the name of a device: " + options.device};
  NL_TRY(const NamedLock place, take_place(store, options.device));
  const auto self = find_process(::getpid());
  if (!self)
    return Error{ErrorCode::kUnavailable, "/proc does not say when a process started", "mount /proc"};
  return Runner(store, options, *self).run();
}

}  // namespace nl::lab
