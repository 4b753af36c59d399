#pragma once
// What a bench file would expect if it were written by what was measured: a bound for each of its
// expectations, and the text of the file with them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/described.h"
#include "base/json.h"
#include "lab/targets/target.h"

namespace nl::lab {

struct ExpectationUpdate {
  int64_t line = 0;
  std::string before;
  std::string after = {};    ///< the same text if it stays
  std::string why_not = {};  ///< why it stays
  std::vector<std::string> claims = {};
  std::optional<double> value = {}, low = {}, high = {};
  int64_t runs = 0;

  bool is_change() const { return why_not.empty() && after != before; }

  static constexpr auto fields() {
    using U = ExpectationUpdate;
    return std::tuple{field("line", &U::line, "of the file"),
                      field("before", &U::before, "the expectation as it was"),
                      field("after", &U::after, "as it is now"),
                      field("why_not", &U::why_not, "why it stays as it was; else empty"),
                      field("claims", &U::claims, "that it is said of"),
                      field("value", &U::value, "of the claim that is farthest from keeping it"),
                      field("low", &U::low, "of its interval"),
                      field("high", &U::high, "of its interval"),
                      field("runs", &U::runs, "process runs of that claim")};
  }
};

/// One for each expectation of the file, by line. `claims` are written as ClaimResult; larger sizes are
/// passed over. A bound lies below (or above) what was measured by the width of the interval, so that the
/// next measurement of the same thing most probably keeps it: the ends of intervals vary themselves.
std::vector<ExpectationUpdate> expectation_updates(const BenchFile& file, const nlohmann::json& claims);

/// The text of the file with the changes. One whose words do not stand on its line, or stand there twice, is
/// marked and stays.
std::string with_updates(const std::string& text, std::vector<ExpectationUpdate>& updates);

}  // namespace nl::lab
