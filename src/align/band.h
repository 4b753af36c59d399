#pragma once
// The best alignment of two stretches, by scores for similar nodes and for gaps. A gap costs more to begin
// than to continue. The alignment runs from corner to corner, so a shift must be undone before the end and
// pays for that. Only a band around the expected path is computed, so work and memory are bounded by the
// width of the band.

#include <span>
#include <vector>

#include "align/anchors.h"

namespace nl::align {

/// Pairs, ascending on both sides, of nodes that stand for each other in the best alignment; also pairs that
/// do not fit but stand at the same place. Work: the longer side times `width`.
PagedVector<Pair> align_band(std::span<const Features> a, std::span<const Features> b, size_t width);

}  // namespace nl::align
