#pragma once
// A redacted copy of a run, in a folder of its own that vanishes with this object. It is never in the ledger;
// the pseudonyms in it are, so that whoever has the ledger can map them back.

#include <string>

#include "base/aside.h"
#include "ops/operation.h"
#include "ops/runs/run_names.h"
#include "redact/run_redactor.h"

namespace nl::ops {

struct RedactedCopy {
  FolderAside folder;
  NamedRun named;       ///< what exports take
  nlohmann::json told;  ///< what was hidden, for the answer
};

/// `policy_file`: empty for the default policy. Labels go along redacted; tags and notes do not.
Result<RedactedCopy> redacted_copy(const Context& context, const NamedRun& named,
                                   const std::string& policy_file);

}  // namespace nl::ops
