#include "ops/queue/queue_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "ops/text/text.h"

namespace nl::ops {
namespace {

constexpr size_t kMostRows = 8;  // of a state, on one screen

std::string shell_line(const JobAnswer& job) {
  std::string line = job.is_script ? "sh -c" : "";
  for (const std::string& word : job.command) line += (line.empty() ? "" : " ") + shell_word(word);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

std::string exit_text(const AttemptAnswer& attempt) {
  if (attempt.signal.value_or(0) != 0) return fmt::format("signal {}", *attempt.signal);
  return attempt.exit_code ? fmt::format("exit {}", *attempt.exit_code) : "";
}

std::string state_text(const JobAnswer& job) {
  const bool is_quiet = !job.attempts.empty() && job.attempts.back().is_quiet;
  return is_quiet ? "stalls" : job.state;
}

std::vector<std::string> job_row(const JobAnswer& job, const TextStyle& style) {
  const AttemptAnswer none;
  const AttemptAnswer& last = job.attempts.empty() ? none : job.attempts.back();
  const std::string end =
      last.end.empty() || last.end == job.state ? exit_text(last) : last.end + " " + exit_text(last);
  const auto width = static_cast<size_t>(std::max(style.width - 52, 30));
  return {std::to_string(job.id),
          state_text(job),
          job.attempts.size() > 1 ? fmt::format("{}×", job.attempts.size()) : "",
          end,
          last.duration_ns ? duration_text(*last.duration_ns) : "",
          shortened(job.name ? *job.name + ": " + shell_line(job) : shell_line(job), width)};
}

/// Jobs of one state: of those that wait the first, of others the last.
void add_rows(TextTable& table, const QueueAnswer& answer, const std::string& state, const TextStyle& style) {
  std::vector<const JobAnswer*> chosen;
  for (const JobAnswer& job : answer.jobs) {
    if (job.state == state) chosen.push_back(&job);
  }
  const bool is_first = state == "waiting";
  if (is_first)
    std::stable_sort(chosen.begin(), chosen.end(),
                     [](const auto* a, const auto* b) { return a->priority > b->priority; });
  const size_t shown = std::min(chosen.size(), kMostRows);
  const size_t from = is_first ? 0 : chosen.size() - shown;
  if (from > 0) table.add({"…", state, "", "", "", fmt::format("{} earlier", from)});
  for (size_t i = from; i < from + shown; i++) table.add(job_row(*chosen[i], style));
  if (from + shown < chosen.size())
    table.add({"…", state, "", "", "", fmt::format("{} more", chosen.size() - from - shown)});
}

std::string attempt_text(const AttemptAnswer& attempt, const TextStyle& style) {
  std::string out = fmt::format("  {} {}  {}", dim("attempt", style), attempt.attempt, attempt.end);
  if (const std::string exit = exit_text(attempt); !exit.empty()) out += ", " + exit;
  if (attempt.duration_ns) out += ", " + duration_text(*attempt.duration_ns);
  if (attempt.why) out += ": " + *attempt.why;
  if (attempt.is_quiet) out += ", stalls";
  if (attempt.lost_bytes.value_or(0) > 0)
    out += fmt::format("; {} of its output are not in the log", bytes_text(*attempt.lost_bytes));
  if (attempt.leftovers > 0)
    out += "; " + counted(attempt.leftovers, "process", "processes") + " that it left running were ended";
  return out + fmt::format("\n             began {}, log {}\n", time_text(attempt.started_at_ns),
                           attempt.stdout_log);
}

std::string job_text(const JobAnswer& job, const TextStyle& style) {
  std::string out = bold(fmt::format("job {}", job.id), style) + "  " + job.state;
  if (job.why) out += ": " + *job.why;
  if (job.name) out += "  " + *job.name;
  out += "\n";
  if (job.is_script) {
    out += fmt::format("  {}\n{}\n", dim("/bin/sh -c", style), job.command.empty() ? "" : job.command[0]);
  } else {
    std::string line;
    for (const std::string& word : job.command) line += " " + shell_word(word);
    out += fmt::format("  {} {}\n", dim("command", style), line);
  }
  if (job.command_base64) out += "  its bytes that are no UTF-8 are in command_base64: --json\n";
  out += fmt::format("  {}   {}\n", dim("folder", style), job.folder);
  out += fmt::format("  {}      {}, {}, priority {}{}\n", dim("use", style), job.device, job.use,
                     job.priority, job.time_limit_s ? fmt::format(", {} s at most", *job.time_limit_s) : "");
  if (!job.needs.empty()) {
    std::string needs;
    for (const int64_t need : job.needs) needs += fmt::format(" {}", need);
    out += fmt::format("  {}   {}\n", dim("needs", style), needs);
  }
  for (const AttemptAnswer& attempt : job.attempts) out += attempt_text(attempt, style);
  return out;
}

std::string runners_text(const QueueAnswer& answer) {
  std::string out;
  for (const RunnerAnswer& runner : answer.runners)
    out += fmt::format("; {} is run by {} (process {}, since {})", runner.device, runner.user, runner.pid,
                       time_text(runner.since_ns));
  return out;
}

}  // namespace

std::string counts_text(const lab::JobCounts& counts) {
  std::string text;
  const auto add = [&](int64_t count, const char* state) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(count), state);
  };
  add(counts.running, "running");
  add(counts.waiting, "waiting");
  add(counts.done, "done");
  add(counts.failed, "failed");
  add(counts.blocked, "blocked");
  add(counts.cancelled, "cancelled");
  return text.empty() ? "the queue is empty" : text;
}

std::string queue_text(const QueueAnswer& answer, const TextStyle& style) {
  const std::string head =
      counts_text(answer.counts) + (answer.is_paused ? "; paused" : "") + runners_text(answer);
  std::string out = bold(head, style) + "\n";
  if (answer.jobs.empty()) return out;
  using enum TextTable::Align;
  TextTable table({kRight, kLeft, kLeft, kLeft, kRight, kLeft});
  table.add({"job", "state", "", "ended", "took", "command"});
  for (const char* const state : {"running", "failed", "blocked", "cancelled", "waiting", "done"})
    add_rows(table, answer, state, style);
  return out + table.text("", true, style);
}

std::string jobs_text(const QueueAnswer& answer, const TextStyle& style) {
  std::string out;
  for (const JobAnswer& job : answer.jobs) out += job_text(job, style);
  return out;
}

std::string log_text(const LogAnswer& log, const TextStyle& style) {
  const auto ended = [](const std::string& text) {
    return text.empty() || text.ends_with('\n') ? text : text + "\n";
  };
  if (log.stderr_text.empty()) return ended(log.stdout_text);
  return fmt::format("{}{}\n{}", ended(log.stdout_text), dim("-- standard error: " + log.stderr_log, style),
                     ended(log.stderr_text));
}

}  // namespace nl::ops
