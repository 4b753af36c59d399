#pragma once
// The runner: takes the jobs of one device of this queue one after the other, and runs each attempt once. It
// may be killed at any moment; whoever runs next ends what was left running, and writes down how it ended.
//
// What is never done twice unseen rests on three things and on no clock: an attempt is on the disk before its
// process may begin, a process is named by its number, its start and the start of the system, and a runner
// holds a lock that goes with it.

#include <chrono>
#include <string>
#include <vector>

#include "base/environment.h"
#include "lab/queue/queue_store.h"

namespace nl::lab {

struct RunnerOptions {
  std::string device = kWholeMachine;
  bool until_empty = false;
  std::chrono::milliseconds grace = std::chrono::seconds(5);  ///< between being asked to end and being killed
  std::chrono::seconds quiet_after =
      std::chrono::minutes(5);  ///< without output a job is said to stall; 0: never
  std::chrono::seconds unfit_pause = std::chrono::seconds(30);
  const Environment* surroundings = &Environment::of_process();
};

struct RunnerEnd {
  std::string why;  ///< it ended: empty, drained
  int64_t done = 0;
  int64_t failed = 0;     ///< jobs
  int64_t cancelled = 0;  ///< jobs
  int64_t repeated = 0;   ///< attempts after which the job waits again
  int64_t left_waiting = 0;
  std::vector<int64_t> failed_jobs;  ///< the first hundred
};

/// Says what happens by say_line (base/live_lines.h) and report_progress.
/// `conflict` names the runner that has the device already. `cancelled` if the call was: the job that ran is
/// ended, and waits again.
Result<RunnerEnd> run_queue(QueueStore& store, const RunnerOptions& options);

/// Who runs the jobs of the device now.
std::optional<LockHolder> runner_of(const QueueStore& store, const std::string& device);

/// 90 s, 12 min, 3 h 20 min
std::string rough_duration(int64_t ns);

}  // namespace nl::lab
