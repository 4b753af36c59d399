#include <fmt/core.h>

#include "lab/queue/attempt_log.h"
#include "lab/queue/job_file.h"
#include "lab/queue/queue_store.h"
#include "lab/queue/runner.h"
#include "lab/queue/state_folder.h"
#include "ops/queue/queue_answer.h"
#include "ops/queue/queue_text.h"
#include "ops/queue/queue_watch.h"
#include "ops/text/text.h"

namespace nl::ops::queue_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"json({
  "type": "object", "additionalProperties": false,
  "properties": {
    "action": {"type": "string", "default": "list", "x-positional": 1,
               "enum": ["add", "add-file", "list", "watch", "log", "cancel", "pause", "resume", "drain", "requeue", "run"],
               "description": "drain: a runner ends when its job has; requeue: run it once more"},
    "targets": {"type": "array", "items": {"type": "string"}, "x-positional": 2, "x-host-path": {"action": "add-file"},
                "description": "ids or names of jobs; add-file: a file (YAML, .jsonl)"},
    "command": {"type": "array", "items": {"type": "string"}, "x-host-path": true, "x-behind-dashes": true,
                "description": "add: the program and its arguments, after --, byte for byte"},
    "shell": {"x-rare": true, "type": "string", "x-host-path": true, "description": "add: a script for /bin/sh -c instead of a program"},
    "name": {"x-rare": true, "type": "string", "maxLength": 200, "description": "add: what the job is called"},
    "needs": {"x-rare": true, "type": "array", "items": {"type": "string"},
              "description": "add: id or name of a job that must be done before; may be repeated"},
    "priority": {"x-rare": true, "type": "integer", "minimum": -1000000, "maximum": 1000000, "description": "add: higher ones first (default: 0)"},
    "time_limit": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 2419200,
                   "description": "add: seconds after which the job is asked to end (default: none)"},
    "retry": {"x-rare": true, "type": "array", "items": {"type": "string"},
              "description": "add: failed=N, timeout=N, killed=N or unfit=N more attempts for that reason; none: no attempt is repeated (default: killed=1, unfit=3)"},
    "env": {"x-rare": true, "type": "array", "items": {"type": "string"},
            "description": "add: NAME passes this variable as it is now, NAME=value sets it; others but PATH, HOME and the like are not passed"},
    "folder": {"x-rare": true, "type": "string", "x-host-path": true, "description": "add: folder to run it in (default: this one)"},
    "device": {"x-rare": true, "type": "string", "maxLength": 40,
               "description": "add: what the job needs; run: what jobs are run for, one runner each (default: machine)"},
    "use": {"x-rare": true, "type": "string", "enum": ["alone", "shared"],
            "description": "add: of the machine or device, as others who measure see it (default: alone)"},
    "log_bytes": {"x-rare": true, "type": "integer", "minimum": 4096, "maximum": 1073741824,
                  "description": "add: kept of each output, its beginning and its end (default: 16777216)"},
    "state": {"x-rare": true, "type": "array", "items": {"type": "string", "enum": ["waiting", "running", "done", "failed", "cancelled", "blocked"]},
              "description": "list: only jobs in this state; may be repeated"},
    "limit": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 1000000, "description": "list: the newest so many (default: all)"},
    "attempt": {"x-rare": true, "type": "integer", "minimum": 1, "description": "log: of this attempt (default: the last)"},
    "bytes": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 1073741824, "default": 1000000,
              "description": "log: at most so many bytes of each output, its end"},
    "until_empty": {"x-rare": true, "type": "boolean", "description": "run, watch: end when nothing is left to run (an agent's run always does)"},
    "quiet_after": {"x-rare": true, "type": "integer", "minimum": 0, "maximum": 604800, "default": 300,
                    "description": "run: seconds without output after which a job is said to stall; 0: never"},
    "grace": {"x-rare": true, "type": "integer", "minimum": 0, "maximum": 3600, "default": 5,
              "description": "run: seconds between asking a job to end and killing it"},
    "unfit_pause": {"x-rare": true, "type": "integer", "minimum": 0, "maximum": 86400, "default": 30,
                    "description": "run: seconds before a job is tried again that found the machine unfit (exit code 75)"}
  }})json";

constexpr Cut kCuts[] = {{"/jobs/*/environment"},
                         {"/jobs/*/attempts", 1, kOldestFirst},
                         {"/jobs", 10, kOldestFirst},
                         {"/log/stdout"},
                         {"/log/stderr"},
                         {"/jobs"}};

// ---- Answers

Result<void> add_surroundings(lab::QueueStore& store, QueueAnswer& answer) {
  answer.folder = store.folder();
  NL_TRY(answer.counts, store.counts());
  NL_TRY(answer.is_paused, store.is_paused());
  NL_TRY(const auto devices, store.devices());
  for (const std::string& device : devices) {
    if (const auto holder = lab::runner_of(store, device))
      answer.runners.push_back({device, holder->user, holder->pid, holder->since_unix_ns});
  }
  return {};
}

void add_jobs(const lab::QueueStore& store, const std::vector<lab::Job>& jobs, bool in_full,
              QueueAnswer& answer) {
  for (const lab::Job& job : jobs) answer.jobs.push_back(job_answer(job, store.folder(), in_full));
}

Error what_is_missing(const std::string& action) {
  if (action == "add-file")
    return Error{ErrorCode::kBadInput,
                 "which file?",
                 "{}",
                 {suggested("queue", {{"action", "add-file"}, {"targets", {"jobs.yaml"}}})}};
  return Error{ErrorCode::kBadInput,
               "which job? name its id",
               "{} lists them",
               {suggested("queue", {{"action", "list"}})}};
}

std::vector<std::string> targets_of(const json& parameters) {
  return parameters.value("targets", std::vector<std::string>());
}

// ---- Adding

/// The parameters that say what a job is have the names of the keys of a file of jobs.
Result<std::vector<lab::JobPlan>> given_plans(const Context& context, const json& parameters) {
  const auto targets = targets_of(parameters);
  if (parameters["action"] == "add-file") {
    if (targets.size() != 1) return what_is_missing("add-file");
    return lab::read_job_file(targets[0], *context.environment);
  }
  if (!targets.empty())
    return Error{ErrorCode::kBadInput, "the command stands behind --",
                 "neurolens queue add -- " + targets[0] + " …"};
  json entry = json::object();
  for (const char* const key : {"command", "shell", "name", "needs", "priority", "time_limit", "retry", "env",
                                "folder", "device", "use", "log_bytes"}) {
    if (parameters.contains(key)) entry[key] = parameters[key];
  }
  NL_TRY(auto plan, lab::plan_of(entry, *context.environment));
  return std::vector{std::move(plan)};
}

Result<Outcome> add(Context& context, const json& parameters) {
  NL_TRY(const auto plans, given_plans(context, parameters));
  NL_TRY(auto store, lab::QueueStore::open(*context.environment));
  QueueAnswer answer;
  answer.action = parameters["action"];
  NL_TRY(answer.added, store.add(plans));
  NL_TRY(const auto jobs, store.jobs(*answer.added));
  add_jobs(store, jobs, false, answer);
  NL_CHECK(add_surroundings(store, answer));
  const bool runs = !answer.runners.empty();
  Outcome outcome = answered(std::move(answer));
  if (!runs) outcome.next = {suggested("queue", {{"action", "run"}, {"until_empty", true}})};
  return outcome;
}

// ---- Looking

/// Of a queue that nobody has made yet.
Result<Outcome> nothing_queued(const Context& context, const std::string& action) {
  QueueAnswer answer;
  answer.action = action;
  NL_TRY(answer.folder, lab::state_folder_name(*context.environment));
  Outcome outcome = answered(std::move(answer));
  outcome.next = {suggested("queue", {{"action", "add"}, {"command", {"python", "train.py"}}})};
  return outcome;
}

Result<std::vector<lab::Job>> chosen_jobs(lab::QueueStore& store, const json& parameters) {
  const auto targets = targets_of(parameters);
  if (!targets.empty()) {
    NL_TRY(const auto ids, store.find(targets));
    return store.jobs(ids);
  }
  if (!parameters.contains("state") && !parameters.contains("limit")) return store.jobs();
  std::vector<lab::JobState> states;
  const auto names = parameters.value(
      "state", std::vector<std::string>{"waiting", "running", "done", "failed", "cancelled", "blocked"});
  for (const std::string& name : names) states.push_back(*lab::job_state_of(name));
  return store.jobs_in(states, parameters.value("limit", INT64_MAX));
}

Result<Outcome> list(Context& context, lab::QueueStore& store, const json& parameters) {
  const std::string action = parameters["action"];
  const bool until_empty = parameters.value("until_empty", false);
  if (action == "watch" && context.face == Face::kCli) NL_CHECK(watch_queue(store, until_empty));
  QueueAnswer answer;
  answer.action = action;
  NL_TRY(const auto jobs, chosen_jobs(store, parameters));
  add_jobs(store, jobs, !targets_of(parameters).empty(), answer);
  NL_CHECK(add_surroundings(store, answer));
  const bool can_run = answer.counts.waiting > 0 && answer.runners.empty();
  const bool has_failed = answer.counts.failed > 0;
  Outcome outcome = answered(std::move(answer));
  if (has_failed) outcome.next.push_back(suggested("queue", {{"action", "log"}, {"targets", {"ID"}}}));
  if (can_run) outcome.next.push_back(suggested("queue", {{"action", "run"}, {"until_empty", true}}));
  return outcome;
}

Result<Outcome> log(lab::QueueStore& store, const json& parameters) {
  const auto targets = targets_of(parameters);
  if (targets.size() != 1) return what_is_missing("log");
  NL_TRY(const auto ids, store.find(targets));
  NL_TRY(const auto jobs, store.jobs(ids));
  const int64_t last = jobs[0].attempts.empty() ? 0 : jobs[0].attempts.back().number;
  const int64_t number = parameters.value("attempt", last);
  if (number == 0 || number > last)
    return Error{ErrorCode::kNotFound, last == 0 ? "the job has not begun yet: " + targets[0]
                                                 : "the job has no such attempt: " + std::to_string(number)};
  const std::string path = lab::attempt_path(store.folder(), ids[0], number);
  const int64_t most = parameters["bytes"];
  QueueAnswer answer;
  answer.action = "log";
  LogAnswer log{ids[0], number, "", "", path + ".out", path + ".err"};
  NL_TRY(const std::string output, lab::read_log(log.stdout_log, most));
  NL_TRY(const std::string errors, lab::read_log(log.stderr_log, most));
  log.stdout_text = readable(output);
  log.stderr_text = readable(errors);
  answer.log = std::move(log);
  add_jobs(store, jobs, false, answer);
  NL_CHECK(add_surroundings(store, answer));
  return answered(std::move(answer));
}

// ---- Changing

Result<Outcome> change(lab::QueueStore& store, const json& parameters) {
  const std::string action = parameters["action"];
  QueueAnswer answer;
  answer.action = action;
  std::vector<std::string> warnings;
  if (action == "pause" || action == "resume") {
    NL_CHECK(store.set_paused(action == "pause"));
  } else if (action == "drain") {
    NL_CHECK(store.ask_to_drain());
  } else {
    const auto targets = targets_of(parameters);
    if (targets.empty()) return what_is_missing(action);
    NL_TRY(const auto ids, store.find(targets));
    NL_TRY(answer.changed, action == "cancel" ? store.cancel(ids) : store.requeue(ids));
    if (*answer.changed < static_cast<int64_t>(ids.size()))
      warnings.push_back(action == "cancel" ? "jobs that have ended are not cancelled"
                                            : "jobs that wait or run are not queued again");
    NL_TRY(const auto jobs, store.jobs(ids));
    add_jobs(store, jobs, false, answer);
  }
  NL_CHECK(add_surroundings(store, answer));
  Outcome outcome = answered(std::move(answer));
  outcome.warnings = std::move(warnings);
  return outcome;
}

// ---- Running

Result<Outcome> run_jobs(Context& context, const json& parameters) {
  NL_TRY(auto store, lab::QueueStore::open(*context.environment));
  lab::RunnerOptions options;
  options.device = parameters.value("device", lab::kWholeMachine);
  options.until_empty = parameters.value("until_empty", false) || context.face != Face::kCli;
  options.grace = std::chrono::seconds(parameters["grace"].get<int64_t>());
  options.quiet_after = std::chrono::seconds(parameters["quiet_after"].get<int64_t>());
  options.unfit_pause = std::chrono::seconds(parameters["unfit_pause"].get<int64_t>());
  options.surroundings = context.environment;
  NL_TRY(const lab::RunnerEnd end, lab::run_queue(store, options));
  QueueAnswer answer;
  answer.action = "run";
  answer.ran = RanAnswer{end.why,      end.done,         end.failed,     end.cancelled,
                         end.repeated, end.left_waiting, end.failed_jobs};
  if (!end.failed_jobs.empty()) {
    NL_TRY(const auto failed, store.jobs(end.failed_jobs));
    add_jobs(store, failed, false, answer);
  }
  NL_CHECK(add_surroundings(store, answer));
  Outcome outcome = answered(std::move(answer));
  outcome.exit_code = end.failed > 0 ? 1 : 0;
  if (end.why == "empty" && end.left_waiting > 0)
    outcome.warnings.push_back(counted(end.left_waiting, "job waits", "jobs wait") +
                               " for jobs of other devices, which nobody runs now");
  if (end.failed > 0)
    outcome.next = {
        suggested("queue", {{"action", "log"}, {"targets", {std::to_string(end.failed_jobs[0])}}})};
  return outcome;
}

Result<Outcome> run(Context& context, const json& parameters) {
  const std::string action = parameters["action"];
  if (action == "add" || action == "add-file") return add(context, parameters);
  if (action == "run") return run_jobs(context, parameters);
  NL_TRY(auto store, lab::QueueStore::open_if_any(*context.environment));
  if (!store) return nothing_queued(context, action);
  if (action == "list" || action == "watch") return list(context, *store, parameters);
  if (action == "log") return log(*store, parameters);
  return change(*store, parameters);
}

// ---- For people

std::string added_text(const QueueAnswer& answer) {
  const auto& ids = *answer.added;
  const std::string which =
      ids.size() == 1 ? fmt::format("job {} is", ids[0])
                      : fmt::format("{} jobs, {} to {}, are", grouped(static_cast<int64_t>(ids.size())),
                                    ids.front(), ids.back());
  return fmt::format("{} queued; {}\n", which, counts_text(answer.counts));
}

std::string ran_text(const QueueAnswer& answer, const TextStyle& style) {
  const RanAnswer& ran = *answer.ran;
  std::string out = fmt::format("{} done, {} failed", ran.done, ran.failed);
  if (ran.cancelled > 0) out += fmt::format(", {} cancelled", ran.cancelled);
  if (ran.repeated > 0)
    out += fmt::format("; {} repeated", counted(ran.repeated, "attempt was", "attempts were"));
  out = bold(out, style) + "; " + counts_text(answer.counts) + "\n";
  return out + jobs_text(answer, style);
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  const auto& answer = answer_of<QueueAnswer>(outcome);
  if (answer.added) return added_text(answer);
  if (answer.log) return log_text(*answer.log, style);
  if (answer.ran) return ran_text(answer, style);
  const bool in_full = !answer.jobs.empty() && answer.jobs[0].environment.has_value();
  if (answer.action == "list" && in_full) return jobs_text(answer, style);
  return queue_text(answer, style);
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "queue",
      .summary = "Queue commands and run them one after the other, through crashes and reboots",
      .use_when = "several measurements or other jobs are to run on this machine, one by one, unattended",
      .not_when = "one program is to be run and recorded now: record",
      .example = R"({"action": "add", "command": ["python", "train.py"]})",
      .parameters = kParameters,
      .result = schema_text<QueueAnswer>,
      .effect = Effect::kExec,
      .reach = {.cli = true, .http = false, .mcp = true},
      .cuts = kCuts,
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::queue_operation
