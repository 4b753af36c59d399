#include "lab/queue/processes.h"

#include <fmt/core.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <set>
#include <thread>

#include "base/files.h"
#include "base/text.h"
#include "capture/run/host.h"

namespace nl::lab {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLookAgain = std::chrono::milliseconds(20);
constexpr auto kPatience = std::chrono::seconds(10);  // with one that was killed

struct Seen {
  int64_t pid = 0;
  char state = 0;
  int64_t session = 0;
  int64_t start_ticks = 0;
};

int64_t number_of_text(std::string_view text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// The name of the program stands in brackets and may hold anything: what counts stands behind the last one.
std::optional<Seen> read_stat(int64_t pid) {
  constexpr size_t kState = 0, kSession = 3, kStart = 19;  // fields behind the name
  const auto text = read_file(fmt::format("/proc/{}/stat", pid));
  if (!text) return std::nullopt;
  const size_t bracket = text->rfind(')');
  if (bracket == std::string::npos || bracket + 2 >= text->size()) return std::nullopt;
  const auto fields = split(std::string_view(*text).substr(bracket + 2), ' ');
  if (fields.size() <= kStart || fields[kState].empty()) return std::nullopt;
  return Seen{pid, fields[kState][0], number_of_text(fields[kSession]), number_of_text(fields[kStart])};
}

bool is_over(const Seen& seen) {
  return seen.state == 'Z' || seen.state == 'X';
}

std::vector<int64_t> all_pids() {
  std::vector<int64_t> pids;
  for (const std::string& name : list_folder("/proc")) {
    if (is_digit(name[0])) pids.push_back(number_of_text(name));
  }
  return pids;
}

/// The environment that its program was started with; that of another user is hidden from us.
bool has_mark(int64_t pid, const std::string& mark) {
  const auto text = read_file(fmt::format("/proc/{}/environ", pid));
  if (!text) return false;
  const auto variables = split(*text, '\0');
  return std::find(variables.begin(), variables.end(), mark) != variables.end();
}

struct Found {
  std::vector<ProcessId> ours;
  std::vector<int64_t> doubtful;
};

Found find_of_job(const JobProcesses& job, bool session_is_ours) {
  Found found;
  for (const int64_t pid : all_pids()) {
    const auto seen = read_stat(pid);
    if (!seen || is_over(*seen) || pid == ::getpid()) continue;
    const bool in_session = job.leader.pid > 0 && seen->session == job.leader.pid;
    if ((in_session && session_is_ours) || has_mark(pid, job.mark)) {
      found.ours.push_back({job.leader.boot_id, pid, seen->start_ticks});
    } else if (in_session) {
      found.doubtful.push_back(pid);
    }
  }
  return found;
}

}  // namespace

std::optional<ProcessId> find_process(int64_t pid) {
  const auto seen = read_stat(pid);
  if (!seen || is_over(*seen)) return std::nullopt;
  return ProcessId{capture::boot_id(), pid, seen->start_ticks};
}

bool is_alive(const ProcessId& process) {
  const auto seen = read_stat(process.pid);
  return seen && !is_over(*seen) && seen->start_ticks == process.start_ticks &&
         process.boot_id == capture::boot_id();
}

void send_signal(const ProcessId& process, int number) {
#ifdef SYS_pidfd_open
  // Opened first and looked at then: what is signalled is what was looked at.
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0));
  if (fd >= 0) {
    const auto seen = read_stat(process.pid);
    if (seen && seen->start_ticks == process.start_ticks)
      ::syscall(SYS_pidfd_send_signal, fd, number, nullptr, 0);
    ::close(fd);
    return;
  }
  if (errno != ENOSYS) return;
#endif
  const auto seen = read_stat(process.pid);
  if (seen && seen->start_ticks == process.start_ticks) ::kill(static_cast<pid_t>(process.pid), number);
}

Result<EndedProcesses> end_processes(const JobProcesses& job, std::chrono::milliseconds grace) {
  const bool session_is_ours = job.leader.pid > 0 && is_alive(job.leader);
  const auto begin = Clock::now();
  std::set<int64_t> ended;
  for (;;) {
    const Found found = find_of_job(job, session_is_ours);
    if (found.ours.empty()) return EndedProcesses{static_cast<int64_t>(ended.size()), found.doubtful};
    const auto waited = Clock::now() - begin;
    if (waited > grace + kPatience)
      return Error{ErrorCode::kUnavailable,
                   fmt::format("process {} does not end, though it was killed", found.ours[0].pid),
                   "it may hang in a device or a network drive; try again when it has ended"};
    for (const ProcessId& process : found.ours) {
      ended.insert(process.pid);
      send_signal(process, waited < grace ? SIGTERM : SIGKILL);
      send_signal(process, SIGCONT);  // one that was stopped could not hear it
    }
    std::this_thread::sleep_for(kLookAgain);
  }
}

}  // namespace nl::lab
