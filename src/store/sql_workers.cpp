#include "store/sql_workers.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>

#include "base/checked_thread.h"
#include "base/environment.h"
#include "base/files.h"
#include "store/sql_frames.h"

namespace nl::store {
namespace {

using Clock = std::chrono::steady_clock;

/// The engine stops by itself at the limit, unless it is deaf.
constexpr std::chrono::milliseconds kGrace(500);
constexpr std::chrono::milliseconds kLookEvery(50);

Error took_too_long(int seconds) {
  return Error{ErrorCode::kLimit, "the query took longer than " + std::to_string(seconds) + " s"};
}

Error was_killed() {
  return Error{ErrorCode::kLimit, "the query was stopped: it took too much memory or time"};
}

/// Closes a file when it goes.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

Result<pid_t> spawn(const std::vector<std::string>& command, int standard_input) {
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const auto& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, standard_input, STDIN_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> variables;
  for (const auto& variable : Environment::of_process().variables())
    variables.push_back(const_cast<char*>(variable.c_str()));
  variables.push_back(nullptr);
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, words[0], &actions, nullptr, words.data(), variables.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return errno_error("cannot start", command[0], failed);
  return pid;
}

}  // namespace

/// One process and our end of its socket. It ends with the object.
class SqlWorkers::Worker {
 public:
  static Result<std::unique_ptr<Worker>> start(const SqlWorkersOptions& options) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      return errno_error("cannot make", "a socket", errno);
    Descriptor ours(ends[0]), theirs(ends[1]);
    NL_TRY(const pid_t pid, spawn({options.program, kSqlWorker, std::to_string(options.threads),
                                   std::to_string(options.memory_mb)},
                                  theirs.get()));
    return std::make_unique<Worker>(std::move(ours), pid);
  }
  Worker(Descriptor socket, pid_t pid) : socket_(std::move(socket)), pid_(pid) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  bool is_alive() const {
    pollfd other{socket_.get(), POLLRDHUP, 0};
    return ::poll(&other, 1, 0) == 0;
  }
  int socket() const { return socket_.get(); }
  pid_t pid() const { return pid_; }

 private:
  Descriptor socket_;
  pid_t pid_;
};

/// A place among the queries that run at once, and what is to be done when one is over.
class SqlWorkers::Turn {
 public:
  explicit Turn(SqlWorkers& pool) : pool_(pool) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (!waited_) return;
    // Without memory, the next query starts its process itself.
    (void)without_exceptions([this]() -> Result<void> {
      {
        const std::lock_guard lock(pool_.mutex_);
        pool_.running_--;
      }
      pool_.finished_.notify_one();
      pool_.fill_up();
      return {};
    });
  }
  Result<void> wait(const QueryLimits& limits) {
    std::unique_lock lock(pool_.mutex_);
    while (pool_.running_ >= pool_.options_.at_once) {
      if (limits.cancelled()) return cancelled_error();
      pool_.finished_.wait_for(lock, kLookEvery);
    }
    pool_.running_++;
    waited_ = true;
    return {};
  }

 private:
  SqlWorkers& pool_;
  bool waited_ = false;
};

SqlWorkers::SqlWorkers(SqlWorkersOptions options) : options_(std::move(options)) {
  fill_up();
}

SqlWorkers::~SqlWorkers() = default;

/// One that cannot be started now is started, or the error is told, when it is needed.
void SqlWorkers::fill_up() {
  const std::lock_guard lock(mutex_);
  std::erase_if(ready_, [](const auto& worker) { return !worker->is_alive(); });
  while (ready_.size() < options_.ready) {
    auto worker = Worker::start(options_);
    if (!worker) return;
    ready_.push_back(std::move(*worker));
  }
}

Result<std::unique_ptr<SqlWorkers::Worker>> SqlWorkers::take_worker() {
  const std::lock_guard lock(mutex_);
  while (!ready_.empty()) {
    auto worker = std::move(ready_.front());  // the oldest has its engine running
    ready_.erase(ready_.begin());
    if (worker->is_alive()) return worker;
  }
  return Worker::start(options_);
}

void SqlWorkers::expect_query() {
  const std::lock_guard lock(mutex_);
  if (!ready_.empty()) return;
  if (auto worker = Worker::start(options_)) ready_.push_back(std::move(*worker));
}

std::vector<int> SqlWorkers::ready_processes() {
  const std::lock_guard lock(mutex_);
  std::vector<int> pids;
  pids.reserve(ready_.size());
  for (const auto& worker : ready_) pids.push_back(worker->pid());
  return pids;
}

namespace {

Result<void> send_request(int socket, const QueryRequest& request) {
  const auto sent = send_frame(socket, FrameKind::kRequest, request_text(request));
  return sent ? Result<void>() : Result<void>(was_killed());
}

/// Gives the frames of an answer to `take` until the end; an error is that of the query.
Result<void> receive_answer(int socket, const QueryLimits& limits,
                            const std::function<Result<void>(const Frame&)>& take) {
  const auto end = Clock::now() + std::chrono::seconds(limits.seconds) + kGrace;
  const auto wait = [&]() -> Result<void> {
    if (limits.cancelled()) return cancelled_error();
    if (Clock::now() > end) return took_too_long(limits.seconds);
    return {};
  };
  for (;;) {
    auto frame = receive_frame(socket, wait);
    if (!frame && frame.error().code == ErrorCode::kUnavailable && !limits.cancelled()) return was_killed();
    NL_CHECK(frame);
    if (frame->kind == FrameKind::kEnd) return {};
    if (frame->kind == FrameKind::kError) return parse_error(frame->text);
    NL_CHECK(take(*frame));
  }
}

}  // namespace

Result<void> SqlWorkers::query(const RunPlace& place, const std::string& sql, const QueryLimits& limits,
                               const QuerySink& sink) {
  Turn turn(*this);
  NL_CHECK(turn.wait(limits));
  NL_TRY(const auto worker, take_worker());
  NL_CHECK(send_request(worker->socket(), {place, sql, limits.seconds, false}));
  size_t columns = 0;
  return receive_answer(worker->socket(), limits, [&](const Frame& frame) -> Result<void> {
    if (frame.kind == FrameKind::kRows) return for_each_row(frame.text, columns, sink.row);
    NL_TRY(const auto named, parse_columns(frame.text));
    columns = named.size();
    return sink.columns(named);
  });
}

Result<void> SqlWorkers::query_as_parquet(const RunPlace& place, const std::string& sql,
                                          const QueryLimits& limits,
                                          const std::function<Result<void>(std::string_view)>& bytes) {
  Turn turn(*this);
  NL_CHECK(turn.wait(limits));
  NL_TRY(const auto worker, take_worker());
  NL_CHECK(send_request(worker->socket(), {place, sql, limits.seconds, true}));
  return receive_answer(worker->socket(), limits, [&](const Frame& frame) { return bytes(frame.text); });
}

}  // namespace nl::store
