#pragma once
// The few probability distributions that the tests need. Pure functions; any thread.

namespace nl::stats {

/// P(Z > z) of the standard normal distribution.
double normal_tail(double z);
/// z with P(Z <= z) = p, for 0 < p < 1.
double normal_quantile(double p);
/// P(|T| >= |t|) of Student's distribution with `freedom` > 0 degrees, not always whole.
double student_two_sided(double t, double freedom);

}  // namespace nl::stats
