#include "capture/run/timed_command.h"

#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/environment.h"
#include "base/files.h"
#include "base/json.h"
#include "wire/clock_pair.h"

namespace nl::capture {
namespace {

using nlohmann::json;

/// Of this process, which run_timed_command has for itself.
volatile pid_t command_pid = 0;

/// Whoever ends us means the command.
void pass_signals_on() {
  for (const int request : {SIGINT, SIGTERM, SIGHUP}) {
    std::signal(request, [](int number) {
      if (command_pid > 0) ::kill(command_pid, number);
    });
  }
}

int64_t ns_of(const timeval& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + int64_t{time.tv_usec} * 1000;
}

void write_json(const std::string& file, const json& document) {
  const auto written = write_file_durably(file, document.dump());
  static_cast<void>(written);  // whoever reads it sees that there is none
}

}  // namespace

Result<std::vector<std::string>> timed_command(const std::string& file,
                                               const std::vector<std::string>& command) {
  std::error_code failed;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", failed).string();
  if (failed) return errno_error("cannot find", "/proc/self/exe", failed.value());
  std::vector<std::string> timed = {self, kTimedCommand, file};
  timed.insert(timed.end(), command.begin(), command.end());
  return timed;
}

int run_timed_command(const std::string& file, char** command) {
  pid_t pid = -1;
  std::vector<char*> variables;
  for (const std::string& variable : Environment::of_process().variables())
    variables.push_back(const_cast<char*>(variable.c_str()));
  variables.push_back(nullptr);
  const int64_t start = wire::clock_ns(CLOCK_MONOTONIC);
  const auto failed = ::posix_spawnp(&pid, command[0], nullptr, nullptr, command, variables.data());
  if (failed != 0) {
    write_json(file, {{"error", std::strerror(failed)}, {"program", command[0]}});
    return 127;
  }
  command_pid = pid;
  pass_signals_on();
  int status = 0;
  rusage usage{};
  while (::wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  const int exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  write_json(file, {{"start_ns", start},
                    {"wall_ns", wire::clock_ns(CLOCK_MONOTONIC) - start},
                    {"cpu_ns", ns_of(usage.ru_utime) + ns_of(usage.ru_stime)},
                    {"peak_memory_bytes", int64_t{usage.ru_maxrss} * 1024},
                    {"exit_code", exit_code}});
  return exit_code;
}

Result<CommandTime> read_command_time(const std::string& file) {
  const auto text = read_file(file);
  const json document = text ? json::parse(*text, nullptr, false) : json();
  if (!document.is_object()) return Error{ErrorCode::kUnavailable, "the command did not end"};
  if (document.contains("error"))
    return Error{ErrorCode::kNotFound,
                 "cannot start " + document.value("program", "") + ": " + document.value("error", "")};
  CommandTime time;
  time.start_ns = document.value("start_ns", int64_t{0});
  time.wall_ns = document.value("wall_ns", int64_t{0});
  time.cpu_ns = document.value("cpu_ns", int64_t{0});
  time.peak_memory_bytes = document.value("peak_memory_bytes", int64_t{0});
  time.exit_code = document.value("exit_code", 0);
  return time;
}

}  // namespace nl::capture
