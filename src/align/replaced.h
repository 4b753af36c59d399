#pragma once
// Finds nodes that were replaced. Between two certain matches, each side may have some nodes without an equal
// on the other side. The evidence decides whether they are paired as renamed, fused or split, or stay
// unmatched.

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
