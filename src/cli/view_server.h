#pragma once
// `neurolens view RUN`: the pages of a run, served to the browser of this machine until Ctrl+C.

#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"
#include "ops/operation.h"

namespace nl::cli {

/// Not if a file is asked for, nor for a page or a bundle folder, which are in no ledger.
bool is_served(const nlohmann::json& view_parameters);

/// The page of one run or of two compared; profiles are imported first.
Result<std::string> page_of_runs(ops::Context& context, const nlohmann::json& view_parameters);

}  // namespace nl::cli
