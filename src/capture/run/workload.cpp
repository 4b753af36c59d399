#include "capture/run/workload.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/files.h"
#include "base/redact.h"
#include "wire/clock_pair.h"

namespace nl::capture {
namespace {

/// One of the two outputs: its first bytes go to a file, all are counted.
class KeptOutput {
 public:
  KeptOutput(const std::string& path, int64_t most)
      : fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)), left_(most) {}
  KeptOutput(const KeptOutput&) = delete;
  KeptOutput& operator=(const KeptOutput&) = delete;
  ~KeptOutput() {
    if (fd_ >= 0) ::close(fd_);
  }
  bool open() const { return fd_ >= 0; }
  void add(std::string_view bytes) {
    seen_ += static_cast<int64_t>(bytes.size());
    const auto kept = bytes.substr(0, static_cast<size_t>(std::max<int64_t>(left_, 0)));
    if (kept.empty()) return;
    const ssize_t written = ::write(fd_, kept.data(), kept.size());
    left_ = written < 0 ? 0 : left_ - written;  // a full disk ends what is kept, not the workload
  }
  int64_t seen() const { return seen_; }

 private:
  int fd_;
  int64_t left_;
  int64_t seen_ = 0;
};

Result<std::vector<std::string>> with_program_path(const Environment& surroundings,
                                                   std::vector<std::string> command) {
  if (command.empty()) return Error{ErrorCode::kBadInput, "no command"};
  const std::string path = find_in_path(surroundings, command[0]);
  if (path.empty()) return Error{ErrorCode::kNotFound, "no such program: " + command[0]};
  command[0] = path;
  return command;
}

void show(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return;
    bytes.remove_prefix(static_cast<size_t>(std::max<ssize_t>(written, 0)));
  }
}

}  // namespace

Result<WorkloadEnd> run_workload(const WorkloadOptions& options) {
  NL_TRY(const auto command, with_program_path(*options.surroundings, options.command));
  NL_CHECK(make_folders(options.artifacts));
  KeptOutput output(options.artifacts + "/stdout.txt", options.output_bytes);
  KeptOutput errors(options.artifacts + "/stderr.txt", options.output_bytes);
  if (!output.open() || !errors.open()) return errno_error("cannot write into", options.artifacts, errno);
  ProcessOptions process;
  process.time = options.time_limit.value_or(std::chrono::hours(24 * 365));
  process.folder = options.folder;
  process.surroundings = options.surroundings;
  process.environment = options.environment;
  process.input = options.input;
  process.ends_strays = true;
  process.ends_with_us = options.ends_with_us;
  process.grace = options.grace;
  process.watch = options.watch;
  process.output = [&](bool is_error, std::string_view bytes) {
    (is_error ? errors : output).add(bytes);
    options.wrote(bytes.size());
    if (options.echo) show(bytes);
  };
  WorkloadEnd end;
  end.started_unix_ns = wire::clock_ns(CLOCK_REALTIME);
  NL_TRY(end.process, run_process(command, process));
  end.output_bytes = output.seen();
  end.error_bytes = errors.seen();
  return end;
}

nlohmann::json process_json(const ProcessEnd& process) {
  nlohmann::json json = {{"exit_code", process.exit_code},
                         {"wall_ns", process.wall_ns},
                         {"user_ns", process.user_ns},
                         {"system_ns", process.system_ns},
                         {"peak_memory_bytes", process.peak_memory_bytes}};
  if (process.signal != 0) json["signal"] = process.signal;
  if (process.cut_short) json["cut_short"] = process.cut_short->message;
  return json;
}

nlohmann::json workload_json(const WorkloadOptions& options, const WorkloadEnd& end) {
  nlohmann::json json = process_json(end.process);
  json.update({{"command", without_secrets(options.command)},
               {"started_unix_ns", end.started_unix_ns},
               {"stdout_bytes", end.output_bytes},
               {"stderr_bytes", end.error_bytes},
               {"strays_ended", end.process.strays}});
  if (!options.folder.empty()) json["folder"] = options.folder;
  return json;
}

}  // namespace nl::capture
