#pragma once
// Finds nodes that changed their place in the order. Two unmatched nodes are paired if name, shape and the
// groups around them are the same and there is only one way to pair them.

#include "align/links.h"

namespace nl::align {

/// With `far` also single nodes that stand anywhere.
void match_moved(const PagedVector<Features>& a, const PagedVector<Features>& b, bool far, Links& links);

}  // namespace nl::align
