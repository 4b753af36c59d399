#pragma once
// The best alignment of two stretches without anchors: scores of similarity and of gaps (a gap costs more to
// begin than to go on), inside a band that follows the best way. Work and memory are bounded: the band has a
// fixed width, and the way is settled window by window.

#include <span>
#include <vector>

#include "align/anchors.h"

namespace nl::align {

/// Pairs, ascending on both sides, of nodes that stand for each other in the best alignment; also pairs that do
/// not fit but stand at the same place. Linear in the longer side.
std::vector<Pair> align_band(std::span<const Features> a, std::span<const Features> b);

}  // namespace nl::align
