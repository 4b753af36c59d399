#pragma once
// What figures of an analysis rest on besides the facts of the run: metric definitions, taxonomy, peaks,
// counter names. Whoever keeps figures keeps this beside them, to know when they are out of date.

#include <string>

namespace nl::analyze {

/// Changes when the same facts may give other figures: 12 hex digits.
std::string definitions_hash();

}  // namespace nl::analyze
