#pragma once
// Works on two neighbouring stretches of a series: where to divide them, and whether their means differ.
// Values must be finite. Pure functions; any thread.

#include <cstddef>
#include <vector>

namespace nl::stats {

/// A stretch of a series that someone else owns.
struct Segment {
  const double* begin = nullptr;
  const double* end = nullptr;
  size_t size() const { return static_cast<size_t>(end - begin); }
};

double median_of(Segment segment);
/// Where the energy distance between both sides is greatest, each of `least` values or more; the size if the
/// segment is too short.
size_t best_split(Segment segment, size_t least);
/// Where all values on one side lie above all on the other, each side of `least` values or more; of several
/// such places the one with the widest gap. The size if there is none.
size_t separated_split(Segment segment, size_t least);
/// Two-sided Student test of two means; 1 if there is nothing to test with. `memory`: correlation of
/// neighbours, which makes a mean less sure than the number of its values says.
double mean_test(Segment left, Segment right, double memory = 0);
/// Values far out are moved to 5 deviations from the median, so that a single one cannot hide a change.
std::vector<double> clipped(Segment segment);
/// Mean distance of values so far apart; one above 3 medians counts as that, since it may be a change of
/// level.
double mean_distance(Segment segment, size_t apart);

}  // namespace nl::stats
