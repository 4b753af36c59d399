#pragma once
// A data race on purpose: proves that the thread sanitizer, with our suppressions, still sees code of ours
// that the engine calls from its threads.

namespace nl::stress {

/// Threads of the engine count rows in a variable that nothing guards. The sum, which may be wrong.
long count_rows_without_a_lock();

}  // namespace nl::stress
