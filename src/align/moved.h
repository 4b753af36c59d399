#pragma once
// Nodes that changed their place in the order: free ones of both sides with the same name and shape and the
// same groups around them, if there is only one way to pair them.

#include "align/links.h"

namespace nl::align {

/// With `far` also single nodes that stand anywhere.
void match_moved(const std::vector<Features>& a, const std::vector<Features>& b, bool far, Links& links);

}  // namespace nl::align
