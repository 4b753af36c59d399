#include "ops/queue/queue_answer.h"

#include <algorithm>

#include "base/base64.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "lab/queue/state_folder.h"

namespace nl::ops {
namespace {

template <class T>
std::optional<T> if_any(const T& value) {
  return value.empty() ? std::nullopt : std::optional(value);
}

AttemptAnswer attempt_answer(const lab::Attempt& attempt, const std::string& queue_folder) {
  const std::string path = lab::attempt_path(queue_folder, attempt.job, attempt.number);
  AttemptAnswer answer;
  answer.attempt = attempt.number;
  answer.end = lab::attempt_end_name(attempt.end);
  answer.why = if_any(readable(attempt.why));
  answer.started_at_ns = attempt.started_unix_ns;
  answer.duration_ns = attempt.duration_ns;
  answer.exit_code = attempt.exit_code;
  answer.signal = attempt.signal;
  answer.stdout_log = path + ".out";
  answer.stderr_log = path + ".err";
  answer.stdout_bytes = attempt.stdout_bytes;
  answer.stderr_bytes = attempt.stderr_bytes;
  answer.lost_bytes = attempt.lost_bytes;
  answer.leftovers = attempt.leftovers;
  answer.is_quiet = attempt.is_quiet;
  if (attempt.end == lab::AttemptEnd::kRunning && attempt.keeper.pid > 0) answer.pid = attempt.keeper.pid;
  return answer;
}

std::map<std::string, std::string> shown_environment(const std::vector<std::string>& variables) {
  std::map<std::string, std::string> shown;
  for (const std::string& variable : variables) {
    const size_t equals = std::min(variable.find('='), variable.size());
    const std::string name = readable(variable.substr(0, equals));
    const std::string value = readable(variable.substr(std::min(equals + 1, variable.size())));
    shown[name] = names_a_secret(name) ? std::string(kRemoved) : without_secrets(std::string_view(value));
  }
  return shown;
}

}  // namespace

std::string readable(std::string_view bytes) {
  if (is_utf8(bytes)) return std::string(bytes);
  std::string text;
  for (size_t at = 0; at < bytes.size();) {
    const Character one = character_at(bytes, at);
    text += one.valid ? bytes.substr(at, one.size) : "\xEF\xBF\xBD";
    at += one.size;
  }
  return text;
}

JobAnswer job_answer(const lab::Job& job, const std::string& queue_folder, bool with_environment) {
  const lab::JobPlan& plan = job.plan;
  JobAnswer answer;
  answer.id = job.id;
  answer.state = lab::job_state_name(job.state);
  answer.why = if_any(job.why);
  answer.name = if_any(plan.name);
  for (const std::string& word : plan.command) answer.command.push_back(readable(word));
  if (answer.command != plan.command) {
    answer.command_base64.emplace();
    for (const std::string& word : plan.command) answer.command_base64->push_back(base64(word));
  }
  answer.is_script = plan.is_script;
  answer.folder = readable(plan.folder);
  if (with_environment) answer.environment = shown_environment(plan.environment);
  answer.device = plan.device;
  answer.use = plan.use == lab::Use::kAlone ? "alone" : "shared";
  answer.priority = plan.priority;
  answer.time_limit_s = plan.time_limit_s;
  answer.retry = plan.retries;
  answer.needs = job.needs;
  answer.added_at_ns = job.added_unix_ns;
  for (const lab::Attempt& attempt : job.attempts)
    answer.attempts.push_back(attempt_answer(attempt, queue_folder));
  return answer;
}

}  // namespace nl::ops
