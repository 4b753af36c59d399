#pragma once
// Measures one target from its check to its verdicts: first whether the results are right, then the time, in
// blocks of all sides, until the stopping rule of the file is met. What is measured already, before an
// interruption, is not repeated.

#include <vector>

#include "lab/targets/target.h"
#include "ops/lab/bench_session.h"
#include "store/ledger.h"

namespace nl::ops {

struct TargetPlan {
  const lab::Target* target = nullptr;
  std::string folder;                   ///< name of the target's folder in the session
  nlohmann::json document;              ///< what capture.json of every run says
  std::chrono::milliseconds wait = {};  ///< for others who use the machine
};

/// An error only where nothing can be said of any claim: cancelled, a full disk, the machine in use.
Result<std::vector<lab::ClaimResult>> measure_target(Context& context, store::Ledger& ledger,
                                                     BenchSession& session, const TargetPlan& plan);

}  // namespace nl::ops
