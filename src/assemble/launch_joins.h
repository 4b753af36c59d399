#pragma once
// The derived table launch_matches: joins each launch that a counter profiler replayed to the kernel of a
// trace in the same run.

#include <optional>
#include <string>
#include <vector>

#include "assemble/launch_match.h"
#include "base/result.h"
#include "store/engine.h"

namespace nl::assemble {

struct JoinedLaunch {
  int64_t kernel_id;
  LaunchMatch match;
};

/// `connection` has the views of the run, linked; one entry for each replayed launch. Launches of several
/// processes are matched process by process, each with the one that it agrees with best.
Result<std::vector<std::optional<JoinedLaunch>>> join_launches(store::Connection& connection);

}  // namespace nl::assemble
