#include "lab/queue/keeper.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/process.h"
#include "lab/queue/attempt_log.h"

namespace nl::lab {
namespace {

using nlohmann::json;

constexpr int kLine = STDIN_FILENO;  // of the keeper
constexpr int64_t kEndBytes = 4096;
constexpr uint32_t kMostPlanBytes = 64 << 20;

// ---- The plan, as CBOR: its texts may be any bytes

std::string packed_plan(const KeeperPlan& plan) {
  const json tree = {{"attempt_path", plan.attempt_path},
                     {"command", plan.command},
                     {"folder", plan.folder},
                     {"environment", plan.environment},
                     {"time_limit_s", plan.time_limit_s.value_or(0)},
                     {"log_bytes", plan.log_bytes},
                     {"grace_ms", plan.grace_ms}};
  const auto packed = json::to_cbor(tree);
  const auto size = static_cast<uint32_t>(packed.size());
  std::string bytes(sizeof size, '\0');
  std::memcpy(bytes.data(), &size, sizeof size);
  bytes.append(packed.begin(), packed.end());
  return bytes;
}

KeeperPlan unpacked_plan(const std::string& bytes) {
  const json tree = json::from_cbor(bytes);
  KeeperPlan plan;
  plan.attempt_path = tree.at("attempt_path");
  plan.command = tree.at("command").get<std::vector<std::string>>();
  plan.folder = tree.at("folder");
  plan.environment = tree.at("environment").get<std::vector<std::string>>();
  if (const int64_t limit = tree.at("time_limit_s"); limit > 0) plan.time_limit_s = limit;
  plan.log_bytes = tree.at("log_bytes");
  plan.grace_ms = tree.at("grace_ms");
  return plan;
}

// ---- In the keeper

bool receive_all(char* to, size_t size) {
  while (size > 0) {
    const ssize_t n = ::recv(kLine, to, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    to += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

/// Nothing unless it came whole: then the runner has written down that the job begins.
std::optional<KeeperPlan> receive_plan() {
  uint32_t size = 0;
  if (!receive_all(reinterpret_cast<char*>(&size), sizeof size) || size > kMostPlanBytes) return std::nullopt;
  std::string bytes(size, '\0');
  if (!receive_all(bytes.data(), bytes.size())) return std::nullopt;
  return unpacked_plan(bytes);
}

json end_json(const KeptEnd& end) {
  return {{"exit_code", end.exit_code},
          {"signal", end.signal},
          {"cut", end.cut},
          {"error", end.error.substr(0, 1000)},
          {"duration_ns", end.duration_ns},
          {"stdout_bytes", end.stdout_bytes},
          {"stderr_bytes", end.stderr_bytes},
          {"lost_bytes", end.lost_bytes},
          {"leftovers", end.leftovers}};
}

/// Into the room that was reserved: a full disk must not lose it.
bool write_end(const std::string& path, const KeptEnd& end) {
  const std::string text = end_json(end).dump(-1, ' ', true, json::error_handler_t::replace) + "\n";
  const int file = ::open((path + ".end").c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return false;
  const auto size = static_cast<ssize_t>(text.size());
  const bool written = ::pwrite(file, text.data(), text.size(), 0) == size;
  const bool is_whole = written && ::ftruncate(file, size) == 0 && ::fsync(file) == 0;
  ::close(file);
  return is_whole;
}

/// Why the job is to end; asked again and again while it runs.
class Orders {
 public:
  Result<void> look() {
    char order = 0;
    const ssize_t n = ::recv(kLine, &order, 1, MSG_DONTWAIT);
    if (n < 0) return {};
    cut_ = n == 0 ? "orphaned" : order == 'c' ? "cancelled" : "stopped";
    return Error{ErrorCode::kCancelled, cut_};
  }
  const std::string& cut() const { return cut_; }

 private:
  std::string cut_;
};

class KeptJob {
 public:
  KeptJob(const KeeperPlan& plan, AttemptLog output, AttemptLog errors)
      : plan_(plan), output_(std::move(output)), errors_(std::move(errors)) {}

  /// Absent if nobody can say how it ended.
  std::optional<KeptEnd> run() {
    const Environment surroundings(plan_.environment, plan_.folder);
    std::vector<std::string> command = plan_.command;
    command[0] = find_in_path(surroundings, plan_.command[0]);
    if (command[0].empty()) return not_started("there is no such program: " + plan_.command[0]);
    Orders orders;
    const auto ended = run_process(command, options(surroundings, orders));
    // Of a watching process that was killed nothing is known: the job may still run.
    if (!ended && ended.error().message.starts_with("cannot start"))
      return not_started(ended.error().message);
    if (!ended) return std::nullopt;
    return end_of(*ended, orders);
  }

  KeptEnd not_started(const std::string& why) const {
    KeptEnd end;
    end.error = why;
    return end;
  }

 private:
  ProcessOptions options(const Environment& surroundings, Orders& orders) {
    constexpr auto kForever = std::chrono::hours(24 * 365);
    ProcessOptions options;
    options.time = plan_.time_limit_s ? std::chrono::seconds(*plan_.time_limit_s) : kForever;
    options.surroundings = &surroundings;
    options.ends_strays = true;
    options.ends_with_us = true;
    options.grace =
        std::chrono::milliseconds(std::max<int64_t>(plan_.grace_ms, 1));  // 0 has a meaning of its own
    options.output = [this](bool is_error, std::string_view bytes) {
      (is_error ? errors_ : output_).add(bytes);
    };
    options.watch = [&orders] { return orders.look(); };
    return options;
  }

  KeptEnd end_of(const ProcessEnd& ended, const Orders& orders) const {
    KeptEnd end;
    end.exit_code = ended.exit_code;
    end.signal = ended.signal;
    if (ended.cut_short) end.cut = orders.cut().empty() ? "timeout" : orders.cut();
    end.duration_ns = ended.wall_ns;
    end.stdout_bytes = output_.seen_bytes();
    end.stderr_bytes = errors_.seen_bytes();
    end.lost_bytes = output_.lost_bytes() + errors_.lost_bytes();
    end.leftovers = ended.strays;
    for (const auto& [log, path] : {std::pair(&output_, ".out"), std::pair(&errors_, ".err")}) {
      const auto joined = join_log(plan_.attempt_path + path, log->lost_bytes());
      static_cast<void>(joined);  // the pieces are read as well
    }
    return end;
  }

  const KeeperPlan& plan_;
  AttemptLog output_;
  AttemptLog errors_;
};

std::optional<KeptEnd> run_plan(const KeeperPlan& plan) {
  auto errors = AttemptLog::create(plan.attempt_path + ".err", plan.log_bytes);
  auto output = AttemptLog::create(plan.attempt_path + ".out", plan.log_bytes);  // last: see has_begun
  KeptEnd refused;
  for (auto* const log : {&output, &errors}) {
    if (!*log) refused.error = log->error().message;
  }
  if (!refused.error.empty()) return refused;
  KeptJob job(plan, std::move(*output), std::move(*errors));
  if (::chdir(plan.folder.c_str()) != 0)
    return job.not_started(errno_error("cannot work in", plan.folder, errno).message);
  return job.run();
}

/// What the runner had open is not ours: locks and pipes would live on in us.
void close_files_of_runner() {
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, 3U, ~0U, 0U) == 0) return;
#endif
  for (int fd = 3; fd < 65'536; fd++) ::close(fd);
}

// ---- In the runner

Result<pid_t> spawn_keeper(int line, const std::string& mark) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, line, kLine);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO})
    ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(
      &attributes, static_cast<short>(POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  const std::array<char*, 3> arguments = {const_cast<char*>("neurolens"), const_cast<char*>(kQueueKeeper),
                                          nullptr};
  const std::array<char*, 2> variables = {const_cast<char*>(mark.c_str()), nullptr};
  pid_t pid = -1;
  const int failed =
      ::posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, arguments.data(), variables.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (failed != 0) return errno_error("cannot start", "the process that watches a job", failed);
  return pid;
}

}  // namespace

int keep_queue_job() {
  close_files_of_runner();
  std::signal(SIGXFSZ, SIG_IGN);  // a log beyond the limit of file sizes is cut, as on a full disk
  std::signal(SIGPIPE, SIG_IGN);
  try {
    const auto plan = receive_plan();
    if (!plan) return 0;
    const auto end = run_plan(*plan);
    return end && write_end(plan->attempt_path, *end) ? 0 : 1;
  } catch (const std::exception&) {
    return 1;  // the runner sees that there is no end
  }
}

std::optional<KeptEnd> read_kept_end(const std::string& attempt_path) {
  const auto text = read_plain_file(attempt_path + ".end", kEndBytes);
  const json tree = text ? json::parse(*text, nullptr, false) : json();
  if (!tree.is_object()) return std::nullopt;
  try {
    return KeptEnd{tree.at("exit_code"),    tree.at("signal"),      tree.at("cut"),
                   tree.at("error"),        tree.at("duration_ns"), tree.at("stdout_bytes"),
                   tree.at("stderr_bytes"), tree.at("lost_bytes"),  tree.at("leftovers")};
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

bool has_begun(const std::string& attempt_path) {
  return path_exists(attempt_path + ".out");
}

Result<void> reserve_end(const std::string& attempt_path) {
  const std::string path = attempt_path + ".end";
  for (const char* const old : {".out", ".err", ".out.tail0", ".out.tail1", ".err.tail0", ".err.tail1"})
    ::unlink((attempt_path + old).c_str());  // of an attempt that was never written down
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return errno_error("cannot create", path, errno);
  const int failed = ::posix_fallocate(file, 0, kEndBytes);
  ::close(file);
  if (failed == 0) return {};
  ::unlink(path.c_str());
  return errno_error("cannot write", path, failed);
}

Result<Keeper> Keeper::start(const std::string& mark) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return errno_error("cannot open a line to", "the process that watches a job", errno);
  const auto pid = spawn_keeper(ends[1], mark);
  ::close(ends[1]);
  if (!pid) {
    ::close(ends[0]);
    return pid.error();
  }
  Keeper keeper(ends[0], {"", *pid, 0});
  const auto process = find_process(*pid);
  if (!process) return Error{ErrorCode::kUnavailable, "the process that watches a job ended at once"};
  keeper.process_ = *process;
  return keeper;
}

Keeper::Keeper(Keeper&& other) noexcept
    : line_(std::exchange(other.line_, -1)),
      process_(std::move(other.process_)),
      is_over_(std::exchange(other.is_over_, true)) {}

/// Waits for it: it ends what it started. One that hangs is left to be found by its mark.
Keeper::~Keeper() {
  if (line_ >= 0) ::close(line_);
  for (int i = 0; !is_over_ && i < 1000; i++) {
    is_over_ = ::waitpid(static_cast<pid_t>(process_.pid), nullptr, WNOHANG) != 0;
    if (!is_over_) ::usleep(10'000);
  }
}

Result<void> Keeper::send_plan(const KeeperPlan& plan) {
  const std::string bytes = packed_plan(plan);
  std::string_view left = bytes;
  while (!left.empty()) {
    const ssize_t n = ::send(line_, left.data(), left.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("cannot reach", "the process that watches a job", errno);
    left.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

void Keeper::say(char order) const {
  (void)::send(line_, &order, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/// The line is closed with the process, and by nobody else: no program that it starts has it.
bool Keeper::is_over(std::chrono::milliseconds wait) {
  if (is_over_) return true;
  pollfd wanted{line_, POLLIN, 0};
  (void)::poll(&wanted, 1, static_cast<int>(wait.count()));
  is_over_ = ::waitpid(static_cast<pid_t>(process_.pid), nullptr, WNOHANG) != 0;
  if (!is_over_ && wanted.revents != 0) ::usleep(1000);  // it is ending
  return is_over_;
}

}  // namespace nl::lab
