#pragma once
// The comparison in one sentence: by how much, why, and what took some of it back. Every amount is one of the
// parts that add up to the difference. Made from the answer alone; pure function, any thread.

#include <string>

#include "compare/answer.h"

namespace nl::compare {

/// "33.7 ms a step faster (20.3 %): no more waiting for data (46.7 ms); host ops took 9.6 ms back (one run
/// each)"
std::string sentence_of(const Comparison& comparison);

}  // namespace nl::compare
