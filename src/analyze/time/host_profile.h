#pragma once
// What a profile of a host without device work tells beyond the sums of its ops: single slow calls, threads,
// ops that an optimised graph would fuse. Each remark is a condition on measured figures; where the file
// cannot carry it, nothing is said.

#include <optional>
#include <string>
#include <vector>

#include "analyze/answer/remark.h"
#include "analyze/time/prepared_run.h"

namespace nl::analyze {

struct HostProfile {
  bool can_judge = true;                          ///< false: the file does not show what limits the run
  std::optional<std::string> compute_words = {};  ///< of the limiter compute, if sums would mislead
  std::vector<Remark> remarks = {};
};

/// What the ops of a session tell in figures.
struct SessionFacts {
  int64_t unfused_ns = 0;             ///< ops that an optimised graph would not have
  bool is_one_thread = false;         ///< all ops ran on the thread that called the session
  std::vector<const Work*> ops = {};  ///< that start in the window, in order of time
};

/// Nothing if the window holds no whole run of a session.
std::optional<SessionFacts> session_facts(const PreparedRun& run, const Device& host,
                                          const IntervalSet& window, bool shows_pool);

/// `shows_pool`: the source reports on the thread pool of the session.
HostProfile host_profile(const PreparedRun& run, const Device& host, const IntervalSet& window,
                         bool shows_pool);

}  // namespace nl::analyze
