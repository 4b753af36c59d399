#pragma once
// The queue in words: a screen of it, one job in full, and the lines of the live view.

#include <string>
#include <vector>

#include "ops/operation.h"
#include "ops/queue/queue_answer.h"

namespace nl::ops {

/// What matters now: what runs and stalls, what failed, what comes next, what was done last.
std::string queue_text(const QueueAnswer& answer, const TextStyle& style);
/// Each of the jobs in full.
std::string jobs_text(const QueueAnswer& answer, const TextStyle& style);
std::string log_text(const LogAnswer& log, const TextStyle& style);

/// "3 waiting, 1 running, 12 done"
std::string counts_text(const lab::JobCounts& counts);

}  // namespace nl::ops
