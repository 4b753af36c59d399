#pragma once
// The findings of an analysis for people: what was found, by which figure, what to try and what that may
// save.

#include <string>

#include "analyze/answer/analysis.h"
#include "ops/operation.h"

namespace nl::ops {

/// Most time at stake first, each rule once, with the device that has most at stake.
std::string findings_text(const analyze::Analysis& data, const TextStyle& style);

}  // namespace nl::ops
