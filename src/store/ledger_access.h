#pragma once
// Finds out how the files of a ledger can be used: for reading and writing, for reading with locks, or for
// reading only because nobody can change them.

#include <optional>
#include <string>

#include "base/environment.h"
#include "base/result.h"
#include "store/sqlite.h"

namespace nl::store {

struct LedgerAccess {
  std::optional<Error> refusal = {};  ///< why nothing can be written; none: it can
  std::string index_path;             ///< in the local cache folder if the ledger is on a network file system
  SqliteAccess index = SqliteAccess::kReadWrite;
  SqliteAccess state = SqliteAccess::kReadWrite;
};

/// Makes the folder if need be. A folder that cannot be written, or whose file system has no locks, is a
/// ledger to read.
Result<LedgerAccess> examine_ledger(const Environment& surroundings, const std::string& folder);

}  // namespace nl::store
