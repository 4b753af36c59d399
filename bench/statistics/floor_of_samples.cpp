// Does the noise floor that an audit states hold for what comes later? From runs of the same thing on both
// sides: each stretch of so many pairs serves as an audit once, and is held against all other comparisons of
// the same thing. Ends with 1 if fewer than 95 % of the comparisons lie below the floor.
//
// Standard input: a line "name side value" for each run, in the order in which they were measured (side 0 or
// 1), and "name" alone where a new comparison of that name begins. Argument: comparisons whose runs one audit
// takes.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "stats/effect.h"
#include "stats/noise_floor.h"
#include "stats/sample.h"

namespace nl::bench {
namespace {

struct Comparison {
  std::vector<double> sides[2];
  std::vector<double> in_order;
};
using Comparisons = std::map<std::string, std::vector<Comparison>>;

Comparisons read_comparisons() {
  Comparisons all;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string name;
    int side = 0;
    double value = 0;
    words >> name;
    if (words >> side >> value) {
      Comparison& comparison = all[name].back();
      comparison.sides[side].push_back(value);
      comparison.in_order.push_back(value);
    } else {
      all[name].emplace_back();
    }
  }
  return all;
}

std::vector<stats::SamePair> audit_of(const std::vector<Comparison>& all, size_t first, size_t count) {
  std::vector<double> values;
  for (size_t i = 0; i < count; i++) {
    const auto& own = all[(first + i) % all.size()].in_order;
    values.insert(values.end(), own.begin(), own.end());
  }
  std::vector<stats::SamePair> pairs;
  for (size_t i = 0; i + 1 < values.size(); i += 2) pairs.push_back({values[i], values[i + 1]});
  return pairs;
}

/// Of so many runs a side.
double difference(const Comparison& comparison, size_t runs) {
  std::vector<double> sides[2];
  for (int side = 0; side < 2; side++) {
    const auto& all = comparison.sides[side];
    sides[side] = stats::sorted({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(runs)});
  }
  const double ratio = stats::typical_ratio(sides[0], sides[1]).value;
  return std::max(ratio, 1 / ratio) - 1;
}

struct Coverage {
  long below = 0, all = 0;
  double floors = 0;
  long audits = 0;

  double share() const { return static_cast<double>(below) / static_cast<double>(all); }
};

/// By runs a side, as far as the comparisons have so many.
std::map<int64_t, Coverage> coverage_of(const std::vector<Comparison>& all, size_t per_audit) {
  std::map<int64_t, Coverage> found;
  for (size_t audit = 0; audit < all.size(); audit++) {
    const auto floor = stats::noise_floor(audit_of(all, audit, per_audit));
    if (!floor) continue;
    for (const auto& row : floor->by_runs) {
      const auto runs = static_cast<size_t>(row.runs);
      if (runs > all.front().sides[0].size()) continue;
      Coverage& coverage = found[row.runs];
      coverage.floors += row.floor;
      coverage.audits++;
      for (size_t i = 0; i < all.size(); i++) {
        if ((i + all.size() - audit) % all.size() < per_audit) continue;
        coverage.all++;
        coverage.below += difference(all[i], runs) <= row.floor ? 1 : 0;
      }
    }
  }
  return found;
}

int run(size_t per_audit) {
  std::map<int64_t, Coverage> totals;
  for (const auto& [name, all] : read_comparisons()) {
    for (const auto& [runs, coverage] : coverage_of(all, per_audit)) {
      std::printf("  %-12s %2lld runs a side: floor %.1f %% on average, %.1f %% of the others below it\n",
                  name.c_str(), static_cast<long long>(runs),
                  100 * coverage.floors / static_cast<double>(coverage.audits), 100 * coverage.share());
      totals[runs].below += coverage.below;
      totals[runs].all += coverage.all;
    }
  }
  bool holds = !totals.empty();
  for (const auto& [runs, coverage] : totals) {
    std::printf("floor of %lld runs: kept by %.1f %% of %ld comparisons\n", static_cast<long long>(runs),
                100 * coverage.share(), coverage.all);
    holds = holds && coverage.share() >= 0.95;
  }
  return holds ? 0 : 1;
}

}  // namespace
}  // namespace nl::bench

int main(int argc, char** argv) {
  return nl::bench::run(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 2);
}
