#pragma once
// A hash of everything besides the facts of the run that the figures of an analysis depend on: metric
// definitions, taxonomy, peaks and counter names. Stored figures keep this hash beside them, so that it is
// known when they are out of date.

#include <string>

namespace nl::analyze {

/// Changes when the same facts may give other figures: 12 hex digits.
std::string definitions_hash();

}  // namespace nl::analyze
