#pragma once
// Folded stacks: one line a stack, its frames joined by semicolons, then its sums. The lines are in the order
// of their frames.

#include <functional>
#include <string_view>

#include "base/result.h"
#include "exports/stacks/stacks.h"

namespace nl::exports {

/// Writes the stacks of which at least one of the first `sums` values is not 0.
Result<void> write_folded(const StackTree& tree, size_t sums,
                          const std::function<Result<void>(std::string_view)>& write);

}  // namespace nl::exports
