#include "ops/queue/queue_watch.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "base/call_control.h"
#include "base/live_lines.h"
#include "lab/queue/attempt_log.h"
#include "lab/queue/runner.h"
#include "lab/queue/state_folder.h"
#include "ops/queue/queue_text.h"
#include "ops/text/text.h"

namespace nl::ops {
namespace {

constexpr auto kLookAgain = std::chrono::milliseconds(500);
constexpr int64_t kMostRunning = 20;

class QueueView {
 public:
  explicit QueueView(lab::QueueStore& store) : store_(store) {}

  /// False once nothing waits or runs.
  Result<bool> look() {
    NL_TRY(const auto running, store_.jobs_in({lab::JobState::kRunning}, kMostRunning));
    NL_TRY(const lab::JobCounts counts, store_.counts());
    NL_TRY(const auto usual, store_.usual_duration_ns());
    NL_TRY(const bool is_paused, store_.is_paused());
    NL_CHECK(say_what_changed(running));
    std::vector<std::string> lines;
    for (const lab::Job& job : running) lines.push_back(running_line(job, usual));
    lines.push_back(progress_line(counts, usual, is_paused));
    if (!show_picture(lines) && lines.back() != last_line_) say_line(lines.back());
    last_line_ = lines.back();
    return counts.waiting + counts.running > 0;
  }

 private:
  Result<void> say_what_changed(const std::vector<lab::Job>& running) {
    std::map<int64_t, int64_t> now;
    for (const lab::Job& job : running) now[job.id] = job.attempts.empty() ? 0 : job.attempts.back().number;
    for (const auto& [id, number] : now) {
      if (running_[id] != number) say_line(fmt::format("job {} attempt {} began", id, number));
    }
    for (const auto& [id, number] : running_) {
      const auto still = now.find(id);
      if (number == 0 || (still != now.end() && still->second == number)) continue;
      NL_TRY(const auto jobs, store_.jobs({id}));
      if (!jobs.empty()) say_end(jobs.front(), number);
    }
    running_ = std::move(now);
    return {};
  }

  void say_end(const lab::Job& job, int64_t number) const {
    for (const lab::Attempt& attempt : job.attempts) {
      if (attempt.number != number) continue;
      say_line(fmt::format("job {} attempt {} {}{}{}; the job is {}; log {}.out", job.id, number,
                           lab::attempt_end_name(attempt.end),
                           attempt.exit_code ? fmt::format(", exit {}", *attempt.exit_code) : "",
                           attempt.duration_ns ? ", " + duration_text(*attempt.duration_ns) : "",
                           lab::job_state_name(job.state),
                           lab::attempt_path(store_.folder(), job.id, number)));
    }
  }

  std::string running_line(const lab::Job& job, const std::optional<int64_t>& usual) const {
    const lab::Attempt none;
    const lab::Attempt& attempt = job.attempts.empty() ? none : job.attempts.back();
    const int64_t ran = std::max<int64_t>(0, lab::wall_clock_ns() - attempt.started_unix_ns);
    const std::string path = lab::attempt_path(store_.folder(), job.id, attempt.number);
    const int64_t written = lab::log_size(path + ".out") + lab::log_size(path + ".err");
    return fmt::format("job {}  {}{}{}  {} written  {}", job.id, lab::rough_duration(ran),
                       usual ? " of some " + lab::rough_duration(*usual) : "",
                       attempt.is_quiet ? "  STALLS" : "", bytes_text(written),
                       shortened(job.plan.name.empty() ? lab::command_line(job.plan) : job.plan.name, 60));
  }

  static std::string progress_line(const lab::JobCounts& counts, const std::optional<int64_t>& usual,
                                   bool is_paused) {
    const int64_t ended = counts.total() - counts.waiting - counts.running;
    const double share =
        counts.total() == 0 ? 1 : static_cast<double>(ended) / static_cast<double>(counts.total());
    const int64_t to_go = counts.waiting + counts.running;
    const std::string left =
        usual && to_go > 0 ? fmt::format(", {} left", lab::rough_duration(*usual * to_go)) : "";
    return fmt::format("{:3.0f} % {:<20}  {}{}{}", share * 100, bar(share, 20), counts_text(counts), left,
                       is_paused ? "; paused" : "");
  }

  lab::QueueStore& store_;
  std::map<int64_t, int64_t> running_;  ///< job to attempt
  std::string last_line_;
};

}  // namespace

Result<void> watch_queue(lab::QueueStore& store, bool until_empty) {
  QueueView view(store);
  for (;;) {
    NL_TRY(const bool goes_on, view.look());
    if (is_cancelled() || (until_empty && !goes_on)) return {};
    std::this_thread::sleep_for(kLookAgain);
  }
}

}  // namespace nl::ops
