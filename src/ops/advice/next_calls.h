#pragma once
// What operations that advise suggest next, and what the ledger knows of the run besides its analysis.

#include <string>

#include "base/result.h"
#include "ops/operation.h"
#include "ops/runs/run_names.h"

namespace nl::ops {

/// Name of the packed file that the run came in without its profiles; empty if they are there.
Result<std::string> claimed_by_of(const Context& context, const NamedRun& run);

/// The window that every operation looks at by itself, and the only one whose promises `findings` keeps.
inline constexpr char kUsualWindow[] = "steady";

/// The same call, about this window. It names a run already.
SuggestedCall in_window(SuggestedCall call, const std::string& window);

/// Adds a comparison with a baseline, if the ledger has one of another run.
Result<void> suggest_baseline(const Context& context, const NamedRun& run, Outcome& outcome);

}  // namespace nl::ops
