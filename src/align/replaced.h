#pragma once
// Nodes that were replaced: between two nodes that are surely matched stand some of each side that have no
// equal. They are paired as renamed, fused or split, or left alone, whichever the evidence speaks for.

#include "align/links.h"

namespace nl::align {

struct Replaceable {
  const Side& a;
  const Side& b;
  const Sequence& nodes_a;
  const Sequence& nodes_b;
  std::span<const std::string_view> names;
};

/// Pairs of different names in `links` are proposals: they are judged anew together with their free
/// neighbours.
void match_replaced(const Replaceable& sides, Links& links);

}  // namespace nl::align
