#pragma once
// How a call of an operation is written on the command line. Hints, suggestions and examples use it.

#include <string>

#include "base/result.h"
#include "ops/operation.h"

namespace nl::cli {

/// --group-by for group_by
std::string flag_name(std::string_view parameter);

/// The words to type, e.g. neurolens analyze 0123456789ab --window step:0
std::string spelled(const SuggestedCall& call);

/// Of the help of a verb.
std::string spelled_example(const ops::Operation& operation);

}  // namespace nl::cli
