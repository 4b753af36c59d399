#pragma once
// The time line of a run: a mapped file that is derived from the run, kept beside its derived tables, and
// made when it is first asked for.

#include <memory>

#include "base/result.h"
#include "ops/runs/run_names.h"
#include "timeline/timeline_file.h"

namespace nl::ops {

Result<std::shared_ptr<const timeline::TimelineFile>> run_timeline(Context& context, const NamedRun& run);

}  // namespace nl::ops
