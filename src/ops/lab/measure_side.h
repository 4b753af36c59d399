#pragma once
// Runs one side of a target once, as a process of its own, and measures it.

#include <map>
#include <string>

#include "lab/run/sample.h"
#include "lab/targets/target.h"
#include "ops/operation.h"

namespace nl::ops {

/// Where a process run leaves what it makes.
struct RunFolders {
  std::string artifacts;  ///< its output, capture.json
  std::string output;     ///< $NEUROLENS_OUTPUT: results for the check of the target
};

/// The surroundings with some variables set, and another folder.
Environment with_variables(const Environment& surroundings, const std::map<std::string, std::string>& added,
                           std::string folder);

/// What a side sees: the caller's variables, the target's own, and where it is.
Environment environment_of(const Context& context, const lab::Target& target, const lab::Side& side,
                           const RunFolders& folders);

/// Parameters of the operation profile for a model or a function.
nlohmann::json profile_parameters(const lab::Target& target, const lab::Side& side);

/// Time, memory and conditions; target, side, phase and place are the caller's. Writes capture.json, which
/// becomes a run, with these members besides. An error says why there is no time: the program failed, or
/// printed none.
Result<lab::Sample> measure_side(const Context& context, const lab::Target& target, const lab::Side& side,
                                 const RunFolders& folders, nlohmann::json document);

}  // namespace nl::ops
