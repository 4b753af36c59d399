#pragma once
// Compares two samples by ranks: the Mann-Whitney test, and how often a value of one sample exceeds one of
// the other. Exact for small samples, also with ties. Pure functions; any thread.

#include <cstddef>
#include <vector>

namespace nl::stats {

/// Up to this n1 * n2 the distribution is counted; beyond, the normal approximation serves.
inline constexpr size_t kExactPairs = 400;

/// Chances of U, the number of pairs in which the first is greater, when no values are equal and the two
/// samples do not differ.
class RankDistribution {
 public:
  RankDistribution(size_t n1, size_t n2);
  /// P(U <= u)
  double at_most(size_t u) const { return below_or_at_[u]; }
  /// The most pairs c that may be cut off at each end with P(U <= c - 1) <= tail; 0 if none.
  size_t cut(double tail) const;

 private:
  std::vector<double> below_or_at_;
};

struct RankTest {
  double p = 1;
  double u = 0;  ///< pairs in which b is greater, a tie as a half
  bool exact = false;
};

/// Two-sided: P(U as far from its mean, or farther). Both samples sorted and not empty.
RankTest mann_whitney(const std::vector<double>& a, const std::vector<double>& b);
/// The smallest p that samples of these sizes can give: 2 / C(n1 + n2, n1).
double smallest_p(size_t n1, size_t n2);
/// As it is printed, the same on every machine: the last digits come from the mathematics of the system.
double rounded_p(double p);
/// -1: all of b lie below a; 0: neither; 1: all above.
double cliffs_delta(const RankTest& test, size_t n1, size_t n2);

}  // namespace nl::stats
