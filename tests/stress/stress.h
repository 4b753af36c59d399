#pragma once
// Every reading operation from many threads at once on one ledger, with imports, labels and gc between them.
// Each answer must be the one that a single thread got before; at the end no file may be left over and no
// label lost.

namespace nl::stress {

struct StressOptions {
  int seconds = 120;  ///< at least; every call is made once in any case
  int threads = 16;
  int events = 4000;  ///< of the runs that are read
  unsigned seed = 1;
};

/// Prints faults as they come, and what was done in the end.
bool survives_stress(const StressOptions& options);

}  // namespace nl::stress
