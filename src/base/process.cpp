#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/supervisor.h"
#include "base/text.h"

namespace nl {
namespace {

constexpr int kLookEveryMs = 50;
constexpr int kFailsAtOnceMs = 400;
constexpr int kPiecesAtOnce = 64;  // all that a pipe can hold; one that writes without end is still watched

/// For posix_spawn; the strings must live on.
std::vector<char*> arguments_of(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  return arguments;
}

/// The variables around, less those that are given, and then these; the strings must live on.
std::vector<char*> variables_with(const Environment& surroundings, const std::vector<std::string>& given) {
  std::vector<char*> variables;
  for (const std::string& around : surroundings.variables()) {
    const std::string_view name = std::string_view(around).substr(0, around.find('=') + 1);
    const bool replaced = std::any_of(given.begin(), given.end(),
                                      [name](const std::string& text) { return text.starts_with(name); });
    if (!replaced) variables.push_back(const_cast<char*>(around.c_str()));
  }
  for (const std::string& text : given) variables.push_back(const_cast<char*>(text.c_str()));
  variables.push_back(nullptr);
  return variables;
}

int64_t ns_of(const timeval& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + int64_t{time.tv_usec} * 1000;
}

/// Signals as a shell would leave them, and what else the flags say.
void set_attributes(posix_spawnattr_t& attributes, short flags) {
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes,
                             static_cast<short>(flags | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
}

Error cannot_start(const std::string& program, int number) {
  Error error = errno_error("cannot start", program, number);
  error.code = ErrorCode::kUnavailable;
  return error;
}

/// A pipe whose ends are closed when they go.
class Pipe {
 public:
  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_reader();
    close_writer();
  }
  bool open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    reader_ = ends[0];
    writer_ = ends[1];
    ::fcntl(reader_, F_SETFL, O_NONBLOCK);
    return true;
  }
  int reader() const { return reader_; }
  int writer() const { return writer_; }
  void close_reader() { close_end(reader_); }
  void close_writer() { close_end(writer_); }

 private:
  static void close_end(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
  int reader_ = -1;
  int writer_ = -1;
};

/// The command begun in `folder`; a shell changes to it, since posix_spawn does so only from glibc 2.29 on.
std::vector<std::string> in_folder(const std::vector<std::string>& command, const std::string& folder) {
  if (folder.empty()) return command;
  std::vector<std::string> whole = {"/bin/sh", "-c", R"(cd "$0" && exec "$@")", folder};
  whole.insert(whole.end(), command.begin(), command.end());
  return whole;
}

class Running {
 public:
  Running(const std::vector<std::string>& command, const ProcessOptions& options)
      : command_(command), options_(options) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    if (pid_ > 0) end_all();
  }

  Result<ProcessEnd> run() {
    begin_ = Clock::now();
    NL_CHECK(start());
    for (;;) {
      NL_TRY(const auto end, supervisor_ ? ended_supervised() : ended());
      read_outputs();
      if (end) return finish(*end);
      NL_CHECK(judge());
      wait_a_little();
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// The group is killed, with what the program left in it, before its number is given free.
  Result<std::optional<SupervisedEnd>> ended() {
    siginfo_t info{};
    const int failed = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    if (failed != 0 && errno != EINTR) return errno_error("cannot wait for", command_[0], errno);
    if (failed != 0 || info.si_pid != pid_) return std::optional<SupervisedEnd>();
    SupervisedEnd end;
    end.wall_ns = std::chrono::nanoseconds(Clock::now() - begin_).count();
    ::kill(-pid_, SIGKILL);
    ::wait4(std::exchange(pid_, -1), &end.status, 0, &end.usage);
    return std::optional(end);
  }

  Result<std::optional<SupervisedEnd>> ended_supervised() {
    auto end = supervisor_->ended();
    if (!end) end.error().code = ErrorCode::kUnavailable;
    return end;
  }

  void ask_to_end() const {
    if (supervisor_) return supervisor_->ask_to_end();
    ::kill(-pid_, SIGTERM);
    ::kill(-pid_, SIGCONT);  // one that was stopped could not hear it
  }
  void kill_all() const {
    if (supervisor_) return supervisor_->kill();
    ::kill(-pid_, SIGKILL);
  }

  /// Whether it may go on. Once it is over or asked to end, it is not judged again.
  Result<void> judge() {
    if (end_.cut_short) {
      if (Clock::now() > kill_at_) kill_all();
      return {};
    }
    if (supervisor_ && supervisor_->is_over()) return {};
    auto fine = options_.watch();
    if (fine && Clock::now() - begin_ > options_.time) {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options_.time).count();
      fine = Error{ErrorCode::kUnavailable,
                   command_[0] + " did not end within " + std::to_string(seconds) + " s"};
    }
    if (fine || options_.grace.count() == 0) return fine;
    end_.cut_short = fine.error();
    kill_at_ = Clock::now() + options_.grace;
    ask_to_end();
    return {};
  }

  Result<void> start() {
    if (!output_.open() || !errors_.open()) return errno_error("cannot open a pipe for", command_[0], errno);
    const std::vector<std::string> command = in_folder(command_, options_.folder);
    std::vector<char*> arguments = arguments_of(command);
    std::vector<char*> variables = variables_with(*options_.surroundings, options_.environment);
    auto started =
        options_.ends_strays ? start_supervised(arguments, variables) : spawn(arguments, variables);
    output_.close_writer();
    errors_.close_writer();
    return started;
  }

  Result<void> start_supervised(const std::vector<char*>& arguments, const std::vector<char*>& variables) {
    NL_TRY(Supervisor supervisor,
           Supervisor::start({command_[0], arguments.data(), variables.data(), options_.input,
                              output_.writer(), errors_.writer(), options_.ends_with_us, options_.grace}));
    supervisor_.emplace(std::move(supervisor));
    return {};
  }

  Result<void> spawn(const std::vector<char*>& arguments, const std::vector<char*>& variables) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    if (options_.input >= 0) {
      ::posix_spawn_file_actions_adddup2(&actions, options_.input, STDIN_FILENO);
    } else {
      ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    }
    if (options_.output_file.empty()) {
      ::posix_spawn_file_actions_adddup2(&actions, output_.writer(), STDOUT_FILENO);
    } else {
      ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, options_.output_file.c_str(),
                                         O_WRONLY | O_CREAT | O_TRUNC, 0600);
    }
    ::posix_spawn_file_actions_adddup2(&actions, errors_.writer(), STDERR_FILENO);
    set_attributes(attributes, POSIX_SPAWN_SETPGROUP);  // a group, so that all it starts can be ended
    const int failed =
        ::posix_spawn(&pid_, arguments[0], &actions, &attributes, arguments.data(), variables.data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    if (failed == 0) return {};
    pid_ = -1;
    return cannot_start(command_[0], failed);
  }

  void read_outputs() {
    read_from(output_, false, end_.output);
    read_from(errors_, true, end_.errors);
  }
  void read_from(Pipe& pipe, bool is_error, std::string& kept) const {
    char piece[16384];
    for (int i = 0; i < kPiecesAtOnce; i++) {
      const ssize_t n = pipe.reader() < 0 ? 0 : ::read(pipe.reader(), piece, sizeof piece);
      if (n < 0) return;
      if (n == 0) return pipe.close_reader();
      if (options_.output) {
        options_.output(is_error, {piece, static_cast<size_t>(n)});
        continue;
      }
      const size_t room = options_.output_bytes - std::min(options_.output_bytes, kept.size());
      kept.append(piece, std::min(room, static_cast<size_t>(n)));
    }
  }
  void wait_a_little() const {
    pollfd wanted[] = {{output_.reader(), POLLIN, 0},
                       {errors_.reader(), POLLIN, 0},
                       {supervisor_ ? supervisor_->fd() : -1, POLLIN, 0}};
    const bool open = supervisor_ || output_.reader() >= 0 || errors_.reader() >= 0;
    if (!open || ::poll(wanted, 3, kLookEveryMs) > 0) ::usleep(1000);
  }

  Result<ProcessEnd> finish(const SupervisedEnd& end) {
    end_.signal = WIFSIGNALED(end.status) ? WTERMSIG(end.status) : 0;
    end_.exit_code = WIFEXITED(end.status) ? WEXITSTATUS(end.status) : 128 + end_.signal;
    end_.wall_ns = end.wall_ns;
    end_.user_ns = ns_of(end.usage.ru_utime);
    end_.system_ns = ns_of(end.usage.ru_stime);
    end_.peak_memory_bytes = int64_t{end.usage.ru_maxrss} * 1024;
    end_.strays = end.strays;
    return std::move(end_);
  }
  void end_all() const {
    ::kill(-pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }

  const std::vector<std::string>& command_;
  const ProcessOptions& options_;
  pid_t pid_ = -1;  ///< unless a supervisor has started it
  std::optional<Supervisor> supervisor_;
  Pipe output_;
  Pipe errors_;
  Clock::time_point begin_ = {};
  Clock::time_point kill_at_ = {};
  ProcessEnd end_;
};

Result<pid_t> spawn_detached(const Environment& surroundings, const std::vector<std::string>& command) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  set_attributes(attributes, POSIX_SPAWN_SETSID);
  std::vector<char*> arguments = arguments_of(command);
  std::vector<char*> variables = variables_with(surroundings, {});
  pid_t pid = -1;
  const int failed =
      ::posix_spawn(&pid, command[0].c_str(), &actions, &attributes, arguments.data(), variables.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (failed != 0) return cannot_start(command[0], failed);
  return pid;
}

bool is_program(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

Result<ProcessEnd> run_process(const std::vector<std::string>& command, const ProcessOptions& options) {
  return Running(command, options).run();
}

std::optional<std::string> output_of(const Environment& surroundings, const std::string& program,
                                     std::vector<std::string> arguments,
                                     std::vector<std::string> environment) {
  const std::string path = find_in_path(surroundings, program);
  if (path.empty()) return std::nullopt;
  arguments.insert(arguments.begin(), path);
  ProcessOptions options;
  options.time = std::chrono::seconds(10);
  options.surroundings = &surroundings;
  options.environment = std::move(environment);
  const auto ended = run_process(arguments, options);
  if (!ended || ended->exit_code != 0) return std::nullopt;
  return std::string(trimmed(ended->output));
}

Result<void> start_detached(const Environment& surroundings, const std::vector<std::string>& command) {
  NL_TRY(const pid_t pid, spawn_detached(surroundings, command));
  int status = 0;
  for (int waited_ms = 0; waited_ms < kFailsAtOnceMs; waited_ms += 10) {
    if (::waitpid(pid, &status, WNOHANG) == pid) {
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
      return Error{ErrorCode::kUnavailable, command[0] + " failed immediately"};
    }
    ::usleep(10'000);
  }
  return {};
}

std::string find_in_path(const Environment& surroundings, const std::string& name) {
  if (name.find('/') != std::string::npos) return is_program(name) ? name : "";
  const std::string path = surroundings.get("PATH");
  std::string_view rest = path;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    if (!folder.starts_with('/')) continue;  // never what happens to lie here
    std::string candidate = std::string(folder) + "/" + name;
    if (is_program(candidate)) return candidate;
  }
  return {};
}

std::string find_program(const Environment& surroundings, const std::string& name, const char* variable) {
  const std::string given = surroundings.get(variable);
  if (!given.empty()) return is_program(given) ? given : "";
  return find_in_path(surroundings, name);
}

}  // namespace nl
