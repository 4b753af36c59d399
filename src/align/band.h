#pragma once
// The best alignment of two stretches: scores of similarity and of gaps (a gap costs more to begin than to go
// on), from corner to corner, so that a shift has to be paid back. Inside a band around the way that the two
// are expected to take; work and memory are bounded by its width.

#include <span>
#include <vector>

#include "align/anchors.h"

namespace nl::align {

/// Pairs, ascending on both sides, of nodes that stand for each other in the best alignment; also pairs that
/// do not fit but stand at the same place. Work: the longer side times `width`.
std::vector<Pair> align_band(std::span<const Features> a, std::span<const Features> b, size_t width);

}  // namespace nl::align
