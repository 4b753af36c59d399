#pragma once
// The data type and the tile size that the name of a kernel states. If the name does not say, the result is
// "" and never a guess.

#include <string>

#include "analyze/names/kernel_name.h"

namespace nl::analyze {

/// Needs short_name, demangled and functors.
std::string stated_dtype(const KernelName& name);
std::string stated_tile(const KernelName& name);

}  // namespace nl::analyze
