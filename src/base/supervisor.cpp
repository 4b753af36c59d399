#include "base/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "base/files.h"

namespace nl {
namespace {

// What is said over the socket: orders to the supervisor, one report at a time back.
constexpr char kAskToEnd = 'T';
constexpr char kKill = 'K';

enum class News : int { kNotStarted, kOver, kAllGone };

struct Report {
  News news = News::kNotStarted;
  int error_number = 0;
  SupervisedEnd end = {};
};

// ---- In the supervisor: nothing but calls of the kernel

int64_t now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void send_report(int control, const Report& report) {
  (void)::send(control, &report, sizeof report, MSG_NOSIGNAL);  // nobody listens: then nobody needs it
}

/// The descriptors from `first` on, now or when another program is run.
void close_all_from(unsigned first, bool on_exec) {
#ifdef SYS_close_range
  constexpr unsigned kOnExec = 4;  // CLOSE_RANGE_CLOEXEC
  if (::syscall(SYS_close_range, first, ~0U, on_exec ? kOnExec : 0U) == 0) return;
#endif
  constexpr int kMost = 65'536;  // an old kernel: one by one
  for (int fd = static_cast<int>(first); fd < kMost; fd++) {
    if (on_exec) {
      ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    } else {
      ::close(fd);
    }
  }
}

/// The program, in a group of its own, with signals as a shell would leave them.
[[noreturn]] void become(const SupervisedProgram& program, int control) {
  ::setpgid(0, 0);
  const int input = program.input >= 0 ? program.input : ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int streams[] = {::fcntl(input, F_DUPFD_CLOEXEC, 3), ::fcntl(program.output, F_DUPFD_CLOEXEC, 3),
                         ::fcntl(program.errors, F_DUPFD_CLOEXEC, 3)};
  for (int fd = 0; fd < 3; fd++) ::dup2(streams[fd], fd);
  close_all_from(3, true);
  for (int number = 1; number < NSIG; number++) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(program.arguments[0], program.arguments, program.variables);
  send_report(control, {News::kNotStarted, errno, {}});
  ::_exit(127);
}

class Watch {
 public:
  Watch(pid_t number, const SupervisedProgram& program, int64_t begin_ns, int control)
      : program_(number),
        begin_ns_(begin_ns),
        control_(control),
        ends_with_us_(program.ends_with_us),
        grace_ns_(std::chrono::nanoseconds(program.grace).count()) {}

  [[noreturn]] void run() {
    sigset_t child;
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    const int ended = ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    while (!reap()) {
      pollfd wanted[] = {{control_, POLLIN, 0}, {ended, POLLIN, 0}};
      (void)::poll(wanted, 2, -1);
      if (wanted[0].revents != 0) obey();
      signalfd_siginfo news;
      while (::read(ended, &news, sizeof news) > 0) {
      }
    }
    end_strays();
    send_report(control_, {News::kAllGone, 0, end_});
    ::_exit(0);
  }

 private:
  /// Takes the ends of orphans; true once the program itself is over. Its group is killed before its number
  /// is given free, as it could be another's then.
  bool reap() {
    for (;;) {
      siginfo_t info{};
      if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return false;
      if (info.si_pid != program_) {
        ::waitpid(info.si_pid, nullptr, WNOHANG);
        continue;
      }
      end_.wall_ns = now_ns() - begin_ns_;
      ::kill(-program_, SIGKILL);
      ::wait4(program_, &end_.status, 0, &end_.usage);
      send_report(control_, {News::kOver, 0, end_});
      return true;
    }
  }

  void obey() {
    char order = 0;
    const ssize_t n = ::recv(control_, &order, 1, MSG_DONTWAIT);
    if (n == 0) leave_alone();
    if (n != 1) return;
    if (order == kKill) grace_ns_ = 0;
    if (end_.wall_ns > 0) return;  // the group is gone
    ::kill(-program_, order == kKill ? SIGKILL : SIGTERM);
    ::kill(-program_, SIGCONT);  // one that was stopped could not hear it
  }

  /// Who started us has ended.
  [[noreturn]] void leave_alone() const {
    if (ends_with_us_ && end_.wall_ns == 0) ::kill(-program_, SIGKILL);
    ::_exit(0);
  }

  /// Ends our children; the children of each then become ours, until there are none.
  void end_strays() {
    const int64_t begin = now_ns();
    while (has_children()) {
      signal_children(now_ns() - begin < grace_ns_ ? SIGTERM : SIGKILL);
      pollfd wanted{control_, POLLIN, 0};
      if (::poll(&wanted, 1, 10) > 0) obey();
      while (::waitpid(-1, nullptr, WNOHANG) > 0) end_.strays++;
    }
  }

  static bool has_children() {
    siginfo_t info{};
    return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  }

  /// By the kernel's list of them, which is text: "17 23 42 ". What does not fit gets its turn later.
  static void signal_children(int number) {
    char text[4096];
    const int list = ::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    const ssize_t n = list < 0 ? 0 : ::read(list, text, sizeof text);
    if (list >= 0) ::close(list);
    pid_t child = 0;
    for (ssize_t i = 0; i < n; i++) {
      if (text[i] >= '0' && text[i] <= '9') {
        child = child * 10 + (text[i] - '0');
      } else {
        if (child > 0) ::kill(child, number);
        child = 0;
      }
    }
  }

  const pid_t program_;
  const int64_t begin_ns_;
  const int control_;
  const bool ends_with_us_;
  int64_t grace_ns_;
  SupervisedEnd end_ = {};
};

/// Keeps no file of ours: locks and pipes would live on in them.
void let_go_of_files(int control) {
  ::dup2(control, 3);
  close_all_from(4, false);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3; fd++) ::dup2(nothing, fd);
}

[[noreturn]] void supervise(const SupervisedProgram& program, int control) {
  ::setpgid(0, 0);  // what a terminal sends to our group is not for it
  ::signal(SIGCHLD, SIG_DFL);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1L);
  const int64_t begin_ns = now_ns();
  const pid_t pid = ::fork();
  if (pid == 0) become(program, control);
  if (pid < 0) {
    send_report(control, {News::kNotStarted, errno, {}});
    ::_exit(127);
  }
  ::setpgid(pid, pid);  // here and there, as either may be first
  let_go_of_files(control);
  Watch(pid, program, begin_ns, 3).run();
}

}  // namespace

// ---- In our process

Result<Supervisor> Supervisor::start(const SupervisedProgram& program) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return errno_error("cannot open a pipe for", program.name, errno);
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // no handler of ours runs in the fork
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ends[0]);
    supervise(program, ends[1]);
  }
  const int failed = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::close(ends[1]);
  if (pid > 0) return Supervisor(program.name, pid, ends[0]);
  ::close(ends[0]);
  return errno_error("cannot start", program.name, failed);
}

Supervisor::Supervisor(Supervisor&& other) noexcept
    : name_(std::move(other.name_)),
      pid_(other.pid_),
      control_(std::exchange(other.control_, -1)),
      over_(other.over_) {}

Supervisor::~Supervisor() {
  if (control_ < 0) return;
  kill();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {  // it ends when nothing is left
  }
  ::close(control_);
}

Result<std::optional<SupervisedEnd>> Supervisor::ended() {
  for (;;) {
    Report report;
    const ssize_t n = ::recv(control_, &report, sizeof report, MSG_DONTWAIT);
    if (n < 0) return std::optional<SupervisedEnd>();
    if (n == 0) return Error{ErrorCode::kUnavailable, "the process that watched " + name_ + " was killed"};
    switch (report.news) {
      case News::kNotStarted:
        return errno_error("cannot start", name_, report.error_number);
      case News::kOver:
        over_ = report.end;
        break;
      case News::kAllGone:
        return std::optional(report.end);
    }
  }
}

void Supervisor::say(char order) const {
  (void)::send(control_, &order, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Supervisor::ask_to_end() const {
  say(kAskToEnd);
}

void Supervisor::kill() const {
  say(kKill);
}

}  // namespace nl
