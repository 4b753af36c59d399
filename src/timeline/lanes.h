#pragma once
// Spans that overlap get lanes: each goes to the first lane that is free. An instant takes a place as a span
// of 1 ns does: two of one time are beside each other.

#include <vector>

#include "timeline/span.h"

namespace nl::timeline {

/// By start, the shorter first. Spans of one lane never overlap and keep this order.
std::vector<std::vector<Span>> lanes_of(std::vector<Span> spans);

}  // namespace nl::timeline
