#pragma once
// A copy of a run without what may be secret: see text_redactor.h for texts and policy.h for what is hidden.
// All times, counts and links stay, so analysis of the copy says what it says of the original, in other
// names. The copy has an id of its own and does not tell that of the original.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "redact/policy.h"
#include "store/engine.h"

namespace nl::redact {

struct RedactedRun {
  nlohmann::json document;                 ///< run.json of the copy
  std::map<std::string, int64_t> hidden;   ///< texts that were changed, by field
  std::map<std::string, int64_t> dropped;  ///< values that are not in the copy, by field
};

/// Member of the extensions of run.json with what analysis cannot find out from redacted names.
inline constexpr char kCarried[] = "redaction";

struct RedactCall {
  std::string bundle;  ///< the original
  const nlohmann::json& document;
  const Policy& policy;
  Pseudonyms& pseudonyms;
  /// What to carry along, see kCarried. Asked only if ops or layers get other names; null: nothing.
  std::function<Result<nlohmann::json>()> carried;
  std::string target;  ///< an empty folder for the copy
};

Result<RedactedRun> redact_run(const std::shared_ptr<store::Engine>& engine, const RedactCall& call,
                               const std::function<bool()>& cancelled);

}  // namespace nl::redact
