#pragma once
// The live view of the queue: on a terminal a few lines that are drawn anew, elsewhere a line whenever
// something happens. It only looks: whoever runs the jobs does not know of it.

#include "lab/queue/queue_store.h"

namespace nl::ops {

/// Until the call is cancelled, or with `until_empty` until nothing waits or runs.
Result<void> watch_queue(lab::QueueStore& store, bool until_empty);

}  // namespace nl::ops
