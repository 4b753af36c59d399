#pragma once
// Processes by a name that is never used twice: a number is given to another process one day, so the time at
// which the process started and the start of the system belong to it. And the end of what a killed job left
// behind: its processes are known by a variable that all of them inherit, and by their session.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace nl::lab {

struct ProcessId {
  std::string boot_id;  ///< of the system as it runs now, see capture::boot_id
  int64_t pid = 0;
  int64_t start_ticks = 0;  ///< after the start of the system, as /proc/PID/stat says
};

/// Absent if there is no such process, or it has ended and nobody took note yet.
std::optional<ProcessId> find_process(int64_t pid);
bool is_alive(const ProcessId& process);
/// The process and no other that got its number meanwhile.
void send_signal(const ProcessId& process, int number);

/// What one job may have started.
struct JobProcesses {
  std::string mark;  ///< "NAME=value" in their environment
  ProcessId leader;  ///< of their session; pid 0: not known
};

struct EndedProcesses {
  int64_t ended = 0;
  /// Of a session with the number of the leader, which has ended; without the mark they may be another's, and
  /// are left alone.
  std::vector<int64_t> doubtful;
};

/// Asks them to end, kills those that are still there after the grace, and returns when none is left.
/// `unavailable` if one does not end.
Result<EndedProcesses> end_processes(const JobProcesses& job, std::chrono::milliseconds grace);

}  // namespace nl::lab
