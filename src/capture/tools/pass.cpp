#include "capture/tools/pass.h"

#include "base/files.h"

namespace nl::capture {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kTimes[] = "/command_time.json";

int64_t seconds_of(std::chrono::milliseconds time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

/// Asked all the time, looks at the files once a second.
class Watchdog {
 public:
  explicit Watchdog(const PassOptions& options) : options_(options) {}

  void heard(size_t bytes) { heard_ += static_cast<int64_t>(bytes); }

  Result<void> judge() {
    if (options_.cancelled()) return cancelled_error();
    const auto now = Clock::now();
    if (now - begin_ > options_.budget.time)
      return Error{ErrorCode::kUnavailable,
                   "it did not end within " + std::to_string(seconds_of(options_.budget.time)) + " s"};
    if (now < look_at_) return {};
    look_at_ = now + std::chrono::seconds(1);
    const int64_t bytes = folder_bytes(options_.artifacts);
    if (bytes > options_.budget.bytes)
      return Error{ErrorCode::kLimit,
                   "its files have more than " + std::to_string(options_.budget.bytes >> 20) + " MB"};
    if (bytes + heard_ != seen_) {
      seen_ = bytes + heard_;
      grew_at_ = now;
    }
    if (now - grew_at_ < options_.budget.silence) return {};
    return Error{ErrorCode::kUnavailable,
                 "nothing was written for " + std::to_string(seconds_of(options_.budget.silence)) + " s"};
  }

 private:
  const PassOptions& options_;
  int64_t heard_ = 0;
  int64_t seen_ = 0;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point look_at_ = begin_;
  Clock::time_point grew_at_ = begin_;
};

std::string last_line(const std::string& path) {
  constexpr size_t kMostBytes = 300;
  const auto text = read_file(path);
  const size_t end = text ? text->find_last_not_of(" \r\n") : std::string::npos;
  if (end == std::string::npos) return {};
  const size_t line = text->find_last_of("\r\n", end);
  const size_t begin = line == std::string::npos ? 0 : line + 1;
  return text->substr(begin, std::min(kMostBytes, end - begin + 1));
}

}  // namespace

int64_t folder_bytes(const std::string& folder) {
  int64_t sum = 0;
  for (const std::string& name : list_folder(folder)) {
    if (const auto bytes = file_size(folder + "/" + name)) sum += *bytes;
  }
  return sum;
}

std::string last_words(const std::string& artifacts) {
  const std::string errors = last_line(artifacts + "/stderr.txt");
  return errors.empty() ? last_line(artifacts + "/stdout.txt") : errors;
}

Result<PassEnd> run_pass(const PassOptions& options) {
  NL_TRY(const auto timed, timed_command(options.artifacts + kTimes, options.command));
  Watchdog watchdog(options);
  WorkloadOptions workload;
  workload.command = options.tool;
  workload.command.insert(workload.command.end(), timed.begin(), timed.end());
  workload.folder = options.folder;
  workload.surroundings = options.surroundings;
  workload.environment = options.environment;
  workload.artifacts = options.artifacts;
  workload.echo = options.echo;
  workload.grace = options.budget.grace;
  workload.wrote = [&](size_t bytes) { watchdog.heard(bytes); };
  workload.watch = [&] { return watchdog.judge(); };
  PassEnd pass;
  NL_TRY(pass.end, run_workload(workload));
  if (pass.end.process.cut_short && pass.end.process.cut_short->code == ErrorCode::kCancelled)
    return *pass.end.process.cut_short;
  auto time = read_command_time(options.artifacts + kTimes);
  if (time) {
    pass.time = *time;
  } else if (time.error().code == ErrorCode::kNotFound) {
    pass.not_started = time.error();
  }
  return pass;
}

}  // namespace nl::capture
