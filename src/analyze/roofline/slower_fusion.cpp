// Programs that compare a fused kernel with the kernels that it replaces name the two ranges alike.

#include <cctype>

#include "analyze/roofline/kernel_diagnosis.h"

namespace nl::analyze {
namespace {

struct RangeSums {
  std::string name = {};
  int64_t launches = 0;
  int64_t ns = 0;
  bool all_measured = true;
  std::string longest_kernel = {};
  int64_t longest_ns = -1;

  void add(const CountedLaunch& launch) {
    launches++;
    ns += launch.ns.value_or(0);
    all_measured = all_measured && launch.ns;
    if (launch.ns.value_or(0) <= longest_ns) return;
    longest_ns = launch.ns.value_or(0);
    longest_kernel = launch.kernel;
  }
};

std::string letters_of(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

/// "nonfusedgemm" -> "fusedgemm"; empty if the name does not deny that it is fused.
std::string without_denial(const std::string& letters) {
  for (const std::string denial : {"non", "not", "un"}) {
    const size_t at = letters.find(denial + "fused");
    if (at != std::string::npos) return letters.substr(0, at) + letters.substr(at + denial.size());
  }
  return {};
}

constexpr double kClearlyLonger = 1.02;

bool is_slower(const RangeSums& fused, const RangeSums& separate) {
  return fused.all_measured && separate.all_measured &&
         fused.launches<separate.launches&& static_cast<double>(fused.ns)> kClearlyLonger *
             static_cast<double>(separate.ns);
}

}  // namespace

std::optional<FusedRanges> slower_fusion(const std::vector<CountedLaunch>& launches) {
  std::map<std::string, RangeSums> ranges;
  for (const CountedLaunch& launch : launches) {
    if (launch.ranges.empty()) continue;
    RangeSums& sums = ranges[letters_of(launch.ranges)];
    sums.name = launch.ranges;
    sums.add(launch);
  }
  for (const auto& [letters, separate] : ranges) {
    const auto fused = ranges.find(without_denial(letters));
    if (fused == ranges.end() || !is_slower(fused->second, separate)) continue;
    return FusedRanges{fused->second.name, separate.name,     fused->second.ns,
                       separate.ns,        separate.launches, fused->second.longest_kernel};
  }
  return std::nullopt;
}

}  // namespace nl::analyze
