#pragma once
// The fingerprints of all runs of a ledger: rows in files under fingerprints/ of the ledger, one file for
// each set of measured dimensions. A cache: rows of runs that are new or were imported again are computed
// when they are asked for, a damaged file or one of another version is made anew. Several processes may do so
// at once.

#include <string>
#include <vector>

#include "fingerprint/search.h"
#include "ops/operation.h"
#include "ops/runs/run_names.h"
#include "store/ledger.h"

namespace nl::ops {

/// From the measures of the run.
Result<fingerprint::Fingerprint> run_fingerprint(const NamedRun& run);

struct LedgerFingerprints {
  std::vector<fingerprint::SearchedBlock> blocks;
  int64_t runs = 0;                          ///< with a fingerprint
  int64_t computed = 0;                      ///< of them now
  std::vector<std::string> unreadable = {};  ///< run ids whose measures could not be had
};

/// With progress; stops with `cancelled`, keeping what is done. Where the ledger can only be
/// read, what is missing is computed and not kept.
Result<LedgerFingerprints> ledger_fingerprints(Context& context, store::Ledger& ledger);

}  // namespace nl::ops
