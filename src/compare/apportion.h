#pragma once
// Apportionment: divides amounts by the number of units so that the results are whole numbers and still add
// up to the total.

#include <cstdint>
#include <vector>

namespace nl::compare {

/// value / units to the nearest whole number, halves up; below zero too.
int64_t per_unit(int64_t value, int64_t units);

/// Each amount / units, rounded up or down so that the sum is `total`. Largest remainders are rounded up
/// first, of equal ones the earlier. `total` lies within amounts.size() of the exact sum.
std::vector<int64_t> apportion(const std::vector<int64_t>& amounts, int64_t units, int64_t total);

}  // namespace nl::compare
