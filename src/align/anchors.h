#pragma once
// Anchors: stretches of nodes that are equal on both sides and occur exactly once on each side. They are kept
// only where both sides have them in the same order. Such matches are safe, so they divide a long alignment
// into short ones.

#include <span>
#include <vector>

#include "align/features.h"

namespace nl::align {

struct Pair {
  uint32_t a, b;
};

/// Places where equal stretches of `width` nodes begin, ascending on both sides. n log n.
PagedVector<Pair> find_anchors(std::span<const Features> a, std::span<const Features> b, size_t width,
                               Token by);

}  // namespace nl::align
