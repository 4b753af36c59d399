#include "analyze/load/thread_pool.h"

namespace nl::analyze {
namespace {

constexpr char kSamples[] = R"(
  SELECT start_ns, coalesce(try_cast(pool->>'Run' AS BIGINT), 0),
         coalesce(try_cast(pool->>'Distribution' AS BIGINT), 0) +
         coalesce(try_cast(pool->>'DistributionEnqueue' AS BIGINT), 0) +
         coalesce(try_cast(pool->>'Wait' AS BIGINT), 0) + coalesce(try_cast(pool->>'WaitRevoke' AS BIGINT), 0)
  FROM (SELECT start_ns, try_cast(args AS JSON)->'thread_scheduling_stats'->'main_thread' AS pool FROM spans
        WHERE kind = 'op' AND contains(args, 'thread_scheduling_stats'))
  WHERE pool IS NOT NULL AND start_ns IS NOT NULL)";

/// Longest time of one op that is believed, so that sums cannot overflow: a day.
constexpr int64_t kMostUs = 86'400'000'000;

}  // namespace

Result<std::vector<PoolSample>> pool_samples(store::OpenRun& open) {
  std::vector<PoolSample> samples;
  NL_TRY(store::Connection * connection, open.ask({"spans"}));
  NL_CHECK(connection->stream(kSamples, [&](const store::Chunk& chunk) -> Result<void> {
    for (size_t i = 0; i < chunk.size(); i++) {
      const PoolSample sample{chunk.int64s(0)[i], chunk.int64s(1)[i], chunk.int64s(2)[i]};
      const bool sound =
          sample.run_us >= 0 && sample.run_us < kMostUs && sample.other_us >= 0 && sample.other_us < kMostUs;
      if (sound) samples.push_back(sample);
    }
    return {};
  }));
  return samples;
}

Known<double> parallel_efficiency(const std::vector<PoolSample>& samples, const IntervalSet& window) {
  int64_t run = 0, other = 0;
  for (const PoolSample& sample : samples) {
    if (!contains(window, sample.start_ns)) continue;
    run += sample.run_us;
    other += sample.other_us;
  }
  if (run + other == 0) return Absent{"the source does not show its thread pool"};
  return static_cast<double>(run) / static_cast<double>(run + other);
}

}  // namespace nl::analyze
