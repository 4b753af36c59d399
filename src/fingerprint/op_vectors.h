#pragma once
// The fingerprint of each op type or layer of a run, with its share of the time as the weight.

#include "base/json.h"
#include "base/result.h"

namespace nl::fingerprint {

/// [{name, class, share, calls, total_ns, dimensions {lat_norm, ai, size, tail_p90, tail_p99}, absent {id:
/// why}}] by share, then name. lat_norm: time over the time at the roof. ai: FLOP per byte. size: octaves
/// above the typical piece of work. tail_*: p90 or p99 of its pieces over their median. bad_input if the
/// measures lack a member.
Result<nlohmann::json> op_vectors(const nlohmann::json& measures, size_t top);

}  // namespace nl::fingerprint
