#pragma once
// Corrects the p values of many tests that are made at once. Pure function; any thread.

#include <vector>

namespace nl::stats {

/// Benjamini-Hochberg: the smallest share of false ones in a list that still names this test. In the order of
/// `p`.
std::vector<double> benjamini_hochberg(const std::vector<double>& p);

}  // namespace nl::stats
