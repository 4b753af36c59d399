#pragma once
// A budget for answers: programs that pay by the token say how long an answer may be, and the door cuts what
// matters least. See docs/adr/0027-budget-at-the-door.md.
//
// An operation lists what may go, the least important first (Operation::cuts); sections that it does not name
// go before those. Rows go one by one, always in the same order, until the answer fits. So a larger budget
// shows all that a smaller one shows. What is left is what the schema requires: lists get shorter, entries of
// maps and optional sections go, nullable sections become null, and texts that are named keep their
// beginning.

#include <cstdint>

#include "ops/operation.h"

namespace nl::ops {

inline constexpr int64_t kBytesPerToken = 4;

/// Cuts `outcome.data` until the whole envelope, as compact JSON with a line break, has at most so many
/// tokens, and says in `outcome.left_out` what is missing. limit names the least budget that works.
Result<void> cut_to_budget(const Operation& operation, int64_t tokens, const Context& context,
                           Outcome& outcome);

}  // namespace nl::ops
