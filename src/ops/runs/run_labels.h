#pragma once
// Labels that are given with an import: `--set key=value` and the sidecar. They are read before the import,
// so that a mistake in them is found early. They are applied after it, even if the run was already in the
// ledger.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ops/operation.h"
#include "ops/runs/sidecar.h"
#include "store/ledger.h"

namespace nl::ops {

/// "key=value", both checked; an empty value passes if it may be empty.
Result<std::pair<std::string, std::string>> parse_label(const std::string& text, bool may_be_empty);

struct GivenLabels {
  std::map<std::string, std::string> set = {};  ///< --set
  Sidecar sidecar = {};
};
/// `profiles`: the files of one run whose sidecars count; what lies beside the first counts before what lies
/// beside the next.
Result<GivenLabels> given_labels(const std::vector<std::string>& profiles,
                                 const std::vector<std::string>& set);

/// Writes what the state does not hold yet. A warning for each value that does not count, since the source
/// says otherwise.
Result<void> apply_labels(const Context& context, store::Ledger& ledger, const std::string& run_id,
                          const GivenLabels& given, std::vector<std::string>& warnings);

/// Who acts, and now.
store::Act act_of(const Context& context);

}  // namespace nl::ops
