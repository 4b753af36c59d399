#pragma once
// The part of an alignment that keeps the order of both sides: first the anchors, then a banded alignment
// between each two of them.

#include <vector>

#include "align/anchors.h"

namespace nl::align {

/// For each of a its place in b or kNone; ascending. Only pairs that fit.
PagedVector<uint32_t> align_ordered(const PagedVector<Features>& a, const PagedVector<Features>& b);

}  // namespace nl::align
