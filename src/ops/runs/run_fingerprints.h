#pragma once
// The fingerprints of all runs of a ledger, in files under its folder fingerprints/, one file for each set of
// measured dimensions. It is a cache: rows of new or re-imported runs are computed when they are needed, and
// a file that is damaged or has another version is rebuilt. Several processes may do so at the same time.

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
