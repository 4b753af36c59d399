#pragma once
// The last step of every profile, whoever measured it: writes capture.json beside the profile, imports both
// as one run, and makes the figures of the answer.

#include <string>
#include <vector>

#include "capture/run/workload.h"
#include "ops/operation.h"
#include "store/ledger.h"

namespace nl::ops {

/// What a measuring process leaves in its folder, which becomes the artefacts of the run.
struct MeasuredProfile {
  nlohmann::json document = nlohmann::json::object();  ///< members of capture.json besides those of every one
  std::vector<std::string> profiles = {};              ///< names of files in the folder: sources of the run
  nlohmann::json library = nlohmann::json::object();   ///< {name, version, path, provider}
  nlohmann::json inputs = nlohmann::json::array();
  nlohmann::json memory = nlohmann::json::object();
  std::string model = {};  ///< for people
  int threads = 0;         ///< for people; 0: as the library chooses
  std::vector<std::string> warnings = {};
};

/// Runs a process that measures and writes into the folder. An error says what the process said, or how it
/// ended.
Result<capture::WorkloadEnd> run_measuring(const Context& context, const std::vector<std::string>& command,
                                           const std::string& folder, int64_t seconds);

/// Writes capture.json, imports it with the profiles, and answers.
Result<Outcome> keep_profile(Context& context, store::Ledger& ledger, const std::string& folder,
                             const MeasuredProfile& measured);

/// The file as a process that works elsewhere names it. `not_found` if there is none.
Result<std::string> whole_path(const Environment& surroundings, const std::string& path);

/// The answer for people.
std::string profile_text(const Outcome& outcome, const TextStyle& style);

}  // namespace nl::ops
