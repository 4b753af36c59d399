#pragma once
// The one sentence about a run: what limits it, or what the file holds instead and why that cannot tell.

#include <cstdint>
#include <optional>
#include <string>

#include "analyze/answer/analysis.h"
#include "base/result.h"
#include "ops/advice/time_parts.h"
#include "store/open_run.h"

namespace nl::ops {

/// Requests of a serving benchmark: how long they took.
struct RequestTimes {
  int64_t count = 0;
  std::optional<int64_t> p50_ns = {};
  std::optional<int64_t> p99_ns = {};
  std::optional<int64_t> first_token_p50_ns = {};
  std::optional<int64_t> output_tokens = {};

  static constexpr auto fields() {
    using R = RequestTimes;
    return std::tuple{
        field("count", &R::count, "requests"),
        field("p50_ns", &R::p50_ns, "median time until the last token"),
        field("p99_ns", &R::p99_ns, "99th percentile of it; null below 100 requests"),
        field("first_token_p50_ns", &R::first_token_p50_ns, "median time until the first token"),
        field("output_tokens", &R::output_tokens,
              "tokens of all answers; null if the source does not count them")};
  }
};

/// What the tables hold besides what an analysis looks at.
struct OtherRecords {
  std::optional<SummedReport> sums = {};
  std::optional<RequestTimes> requests = {};
  int64_t counter_samples = 0;  ///< of telemetry
};

Result<OtherRecords> other_records(store::OpenRun& run);

/// The limiter that is the verdict; nothing if the record cannot tell.
const analyze::LimiterAnswer* verdict_of(const analyze::Analysis& analysis);

/// Without a full stop, in lower case.
std::string verdict_sentence(const analyze::Analysis& analysis, const TimeParts& parts,
                             const OtherRecords& others);

}  // namespace nl::ops
