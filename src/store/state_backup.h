#pragma once
// Backups of the state, and its repair. A backup is a file of JSON lines beside state.sqlite: a line that
// says which change it was made after, the records of an export, and the sha256 of all that. The one before
// it is kept, too. Repair takes what can still be read of a damaged file, and adds what the newest good
// backup has besides.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "store/state.h"

namespace nl::store {

/// Writes a backup of the state in this folder; how many records it has.
Result<int64_t> back_up_state(State& state, const std::string& folder);

/// The same if the newest one is old: a day, or an eighth of the records and at least 16 changes behind.
Result<void> back_up_state_if_due(State& state, const std::string& folder);

struct RepairReport {
  bool was_damaged = false;       ///< else nothing was done
  int64_t salvaged = 0;           ///< records that could be read
  int64_t from_backup = 0;        ///< records that only the backup had
  bool has_backup = false;        ///< a good one was found
  int64_t backup_at_ns = 0;       ///< when it was written
  std::string damaged_file = {};  ///< where the old file lies now
};

/// Nobody else may use the ledger meanwhile.
Result<RepairReport> repair_state(const std::string& folder);

}  // namespace nl::store
