#pragma once
// The part of an analysis about single inferences, of a source that times each of them.

#include <cstdint>
#include <optional>

#include "base/described.h"

namespace nl::analyze {

struct InferenceTimes {
  int64_t count = 0;
  int64_t p50_ns = 0;
  std::optional<int64_t> p90_ns = {}, p99_ns = {};
  double per_second = 0;

  static constexpr auto fields() {
    using I = InferenceTimes;
    return std::tuple{
        field("count", &I::count, "inferences in the window"), field("p50_ns", &I::p50_ns, "median latency"),
        field("p90_ns", &I::p90_ns, "90th percentile of the latency; null below 10 inferences"),
        field("p99_ns", &I::p99_ns, "99th percentile of the latency; null below 100 inferences"),
        field("per_second", &I::per_second, "inferences of the window / its length")};
  }
};

}  // namespace nl::analyze
