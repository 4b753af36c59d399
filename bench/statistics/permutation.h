#pragma once
// E-divisive as first published, for comparison: the whole series, splits tested by permutations.

#include <vector>

#include "noise.h"

namespace nl::bench {

std::vector<size_t> divide_by_permutations(const std::vector<double>& values, Noise& noise,
                                           int permutations = 199, double p = 0.01);

}  // namespace nl::bench
