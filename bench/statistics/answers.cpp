// Answers of src/stats to questions on standard input, one a line, for compare_scipy.py.

#include <cmath>
#include <cstdio>
#include <iostream>
#include <string>

#include "stats/distributions.h"
#include "stats/effect.h"
#include "stats/false_discovery.h"
#include "stats/rank_test.h"

namespace nl::bench {
namespace {

std::vector<double> read_values(size_t n) {
  std::vector<double> values(n);
  for (double& v : values) std::cin >> v;
  return values;
}

void answer_samples() {
  size_t n1 = 0, n2 = 0;
  std::cin >> n1 >> n2;
  const auto a = stats::sorted(read_values(n1)), b = stats::sorted(read_values(n2));
  const stats::RankTest test = stats::mann_whitney(a, b);
  const stats::Ratio ratio = stats::typical_ratio(a, b);
  const stats::Interval interval = ratio.interval.value_or(stats::Interval{NAN, NAN, NAN});
  std::printf("%.17g %.17g %.17g %.17g %.17g %.17g %.17g\n", test.p, test.u, stats::hodges_lehmann(a, b),
              ratio.value, interval.low, interval.high, stats::cliffs_delta(test, n1, n2));
}

void answer_adjusted() {
  size_t n = 0;
  std::cin >> n;
  for (const double p : stats::benjamini_hochberg(read_values(n))) std::printf("%.17g ", p);
  std::printf("\n");
}

}  // namespace
}  // namespace nl::bench

int main() {
  using namespace nl;
  for (std::string question; std::cin >> question;) {
    double x = 0, y = 0;
    if (question == "samples") bench::answer_samples();
    if (question == "adjusted") bench::answer_adjusted();
    if (question == "student" && std::cin >> x >> y) std::printf("%.17g\n", stats::student_two_sided(x, y));
    if (question == "quantile" && std::cin >> x) std::printf("%.17g\n", stats::normal_quantile(x));
  }
}
