#include "assemble/clock_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <random>
#include <set>
#include <thread>

namespace nl::assemble {
namespace {

#ifdef __OPTIMIZE__
constexpr int kCases = 12'000;
constexpr int kOracleCases = 2'000;
#else
constexpr int kCases = 300;  // under a sanitizer, for its sake
constexpr int kOracleCases = 100;
#endif

// ---- The world: two clocks of which only the simulation knows the relation
// ------------------------------------------------------------------------------

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(engine_() >> 11) * 0x1p-53;
  }
  double log_uniform(double low, double high) { return std::exp(uniform(std::log(low), std::log(high))); }
  double exponential(double mean) { return -mean * std::log(1 - uniform(0, 1)); }
  int64_t whole(int64_t low, int64_t high) {
    return static_cast<int64_t>(uniform(double(low), double(high) + 1));
  }
  bool chance(double p) { return uniform(0, 1) < p; }

 private:
  std::mt19937_64 engine_;
};

/// Reference time as a function of the time on the other clock: one line per setting of that clock.
struct World {
  int64_t begin = 0;                 ///< of the capture, reference time
  double length = 0;                 ///< ns
  double rho = 0;                    ///< of both oscillators together
  std::vector<double> steps = {};    ///< reference times, since begin, at which the clock was set
  std::vector<double> offsets = {};  ///< of each setting

  size_t setting(double since) const {
    return static_cast<size_t>(std::upper_bound(steps.begin(), steps.end(), since) - steps.begin());
  }
  /// The clock's reading at a reference time.
  int64_t reading(double since) const {
    return begin + std::llround((1 + rho) * since + offsets[setting(since)]);
  }
  int64_t reference(double since) const { return begin + std::llround(since); }
};

World make_world(Random& random, bool with_steps) {
  World world;
  world.begin = random.chance(0.5) ? 1'700'000'000'000'000'000 : random.whole(0, 1'000'000'000'000);
  world.length = random.log_uniform(5e7, 1e11);
  world.rho = random.uniform(-100e-6, 100e-6);
  world.offsets = {random.uniform(-1e9, 1e9)};
  const int64_t steps = with_steps ? random.whole(1, 2) : 0;
  for (int64_t i = 0; i < steps; i++)
    world.steps.push_back(world.length * (0.2 + 0.4 * double(i)) + world.length * random.uniform(0, 0.2));
  for (int64_t i = 0; i < steps; i++) {
    const double size = random.log_uniform(1e6, 1e9);
    world.offsets.push_back(world.offsets.back() + (random.chance(0.5) ? size : -size));
  }
  return world;
}

struct Case {
  World world;
  ClockEvidence evidence;
  std::set<uint32_t> injected = {};                       ///< corrupt records whose times are impossible
  std::vector<std::pair<double, int64_t>> readings = {};  ///< reference time since begin, reading
};

/// Rates of things that go wrong.
struct Trouble {
  double lost = 0, corrupt = 0;
};

/// Zero, 1e14 ns away, or some milliseconds on the impossible side.
int64_t corrupted(Random& random, int64_t time, int impossible_sign) {
  switch (random.whole(0, 3)) {
    case 0:
      return 0;
    case 1:
      return time + 100'000'000'000'000;
    case 2:
      return time - 100'000'000'000'000;
    default:
      return time + impossible_sign * random.whole(3'000'000'000, 9'000'000'000);
  }
}

void note(Case& c, double since) {
  c.readings.emplace_back(since, c.world.reading(since));
}

/// Readings of the reference between two readings of the clock, with delays of their own there and back.
void simulate_probes(Random& random, Case& c, Trouble trouble) {
  const double jitter = random.log_uniform(1e3, 5e4), asymmetry = random.uniform(0.05, 0.95);
  const int64_t probes = random.whole(30, 400);
  for (int64_t i = 0; i < probes; i++) {
    const double at = c.world.length * (double(i) + random.uniform(0.1, 0.9)) / double(probes);
    const double delay = 2 * (500 + random.exponential(jitter));
    const double before = at - delay * asymmetry, after = at + delay * (1 - asymmetry);
    if (random.chance(trouble.lost)) continue;
    // A probe during which the clock is set is no probe.
    if (c.world.setting(before) != c.world.setting(after)) continue;
    int64_t other = c.world.reference(at);
    if (random.chance(trouble.corrupt)) {
      other = corrupted(random, other, random.chance(0.5) ? 1 : -1);
      c.injected.insert(static_cast<uint32_t>(i));
    }
    c.evidence.add_probe(c.world.reading(before), other, c.world.reading(after), static_cast<uint32_t>(i));
    if (!c.injected.contains(static_cast<uint32_t>(i))) note(c, at);
  }
}

/// A stream: launches, kernels that wait for their turn, a call that waits for all now and then.
void simulate_device(Random& random, Case& c, Trouble trouble) {
  const double jitter = random.log_uniform(1e3, 5e4);
  const int64_t kernels = random.whole(200, 1500), every = random.whole(5, 40);
  const double pace = c.world.length / double(kernels);
  double host = 0, free_at = 0;
  for (int64_t i = 0; i < kernels; i++) {
    const auto record = static_cast<uint32_t>(i);
    const double launch = host;
    const double start = std::max(free_at, launch + 1500 + random.exponential(jitter));
    const double end = start + random.exponential(pace * random.uniform(0.1, 1));
    free_at = end;
    host += random.exponential(pace * 0.8);
    const bool lost = random.chance(trouble.lost);
    const bool sync = i % every == every - 1;
    if (sync) host = std::max(host, end + 1000 + random.exponential(jitter));
    if (lost) continue;
    int64_t kernel_start = c.world.reading(start);
    if (random.chance(trouble.corrupt)) {
      kernel_start = corrupted(random, kernel_start, -1);
      c.injected.insert(record);
    }
    c.evidence.add_launch(c.world.reference(launch), kernel_start, record);
    if (sync) c.evidence.add_sync(c.world.reading(end), c.world.reference(host), record);
    if (!c.injected.contains(record)) note(c, start);
  }
}

/// Two ranks that meet in collectives: each starts when it is ready, none ends before both have started.
void simulate_ranks(Random& random, Case& c, Trouble trouble) {
  const double jitter = random.log_uniform(1e3, 5e4), transfer = random.log_uniform(5e3, 5e5);
  const int64_t collectives = random.whole(30, 400);
  for (int64_t i = 0; i < collectives; i++) {
    const auto record = static_cast<uint32_t>(i);
    const double at = c.world.length * (double(i) + random.uniform(0, 0.5)) / double(collectives);
    const double mine = at + random.exponential(jitter), other = at + random.exponential(jitter);
    const double both = std::max(mine, other) + transfer;
    const double my_end = both + random.exponential(jitter / 4),
                 other_end = both + random.exponential(jitter / 4);
    if (random.chance(trouble.lost)) continue;
    if (c.world.setting(mine) != c.world.setting(my_end)) continue;
    const int64_t length = c.world.reading(my_end) - c.world.reading(mine);
    int64_t start = c.world.reading(mine);
    if (random.chance(trouble.corrupt)) {
      start = corrupted(random, start, random.chance(0.5) ? 1 : -1);
      c.injected.insert(record);
    }
    c.evidence.add_collective(start, start + length, c.world.reference(other), c.world.reference(other_end),
                              record);
    if (!c.injected.contains(record)) note(c, mine);
  }
}

using Simulate = void (*)(Random&, Case&, Trouble);
constexpr Simulate kSimulations[] = {simulate_probes, simulate_device, simulate_ranks};

Case make_case(uint64_t seed, bool clean = false) {
  Random random(seed);
  Case c;
  c.world = make_world(random, !clean && random.chance(0.3));
  Trouble trouble;
  if (!clean && random.chance(0.5)) trouble.lost = random.uniform(0, 0.3);
  if (!clean && random.chance(0.4)) trouble.corrupt = random.uniform(0, 0.02);
  kSimulations[seed % 3](random, c, trouble);
  return c;
}

// ---- What a fit is measured by
// ------------------------------------------------------------------------------------------------

struct Tally {
  int64_t cases = 0, inside = 0, inconsistent = 0, unbounded = 0;
  int64_t violations_left = 0, corrupt_missed = 0, corrupt_injected = 0, innocents = 0, records = 0;
  int64_t unknown = 0, steps = 0, segments_wrong = 0;
  void add(const Tally& other) {
    cases += other.cases;
    inside += other.inside;
    inconsistent += other.inconsistent;
    unbounded += other.unbounded;
    violations_left += other.violations_left;
    corrupt_missed += other.corrupt_missed;
    corrupt_injected += other.corrupt_injected;
    innocents += other.innocents;
    records += other.records;
    unknown += other.unknown;
    steps += other.steps;
    segments_wrong += other.segments_wrong;
  }
};

/// The mapped reading of every record against the truth.
bool all_inside(const Case& c, const ClockFit& fit) {
  return std::all_of(c.readings.begin(), c.readings.end(), [&](const auto& reading) {
    const auto bound = fit.bound_at(reading.second);
    const int64_t error = std::llabs(fit.map(reading.second) - c.world.reference(reading.first));
    return !bound || error <= *bound;
  });
}

/// Limits that the fit violates although their record is not called corrupt.
int64_t unexplained(const Case& c, const ClockFit& fit) {
  int64_t count = 0;
  for (const OffsetLimit& limit : c.evidence.limits) {
    const auto& segment = fit.segment_at(limit.at_ns);
    if (fit.is_corrupt(limit.record) || segment.is_transition) continue;
    const int64_t offset = segment.map(limit.at_ns) - limit.at_ns;
    count += limit.side == LimitSide::kLower ? offset < limit.offset_ns - 1 : offset > limit.offset_ns + 1;
  }
  return count;
}

Tally judge(const Case& c, const ClockFit& fit) {
  Tally tally;
  tally.cases = 1;
  tally.records = static_cast<int64_t>(c.readings.size());
  tally.corrupt_injected = static_cast<int64_t>(c.injected.size());
  if (!fit.consistent) {
    tally.inconsistent = 1;
    return tally;
  }
  tally.unbounded = !fit.bound_ns();
  tally.inside = all_inside(c, fit);
  for (const auto& reading : c.readings) tally.unknown += !fit.bound_at(reading.second);
  tally.violations_left = unexplained(c, fit);
  for (const uint32_t record : c.injected) tally.corrupt_missed += !fit.is_corrupt(record);
  for (const uint32_t record : fit.corrupt) tally.innocents += !c.injected.contains(record);
  tally.steps = static_cast<int64_t>(c.world.steps.size());
  std::set<std::pair<int64_t, double>> lines;
  for (const auto& segment : fit.segments) lines.emplace(segment.offset_ns, segment.drift_ppm);
  const auto settings = static_cast<int64_t>(lines.size());
  tally.segments_wrong = settings != tally.steps + 1;
  return tally;
}

/// Cases over all cores; which thread takes which does not matter.
template <class Each>
void for_cases(int cases, Each each) {
  std::atomic<int> next = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); t++) {
    threads.emplace_back([&] {
      for (int i = next++; i < cases; i = next++) each(i);
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(ClockFit, TruthLiesInsideThePublishedBound) {
  Tally total, by_kind[3];
  std::mutex mutex;
  for_cases(kCases, [&](int i) {
    const Case c = make_case(static_cast<uint64_t>(i));
    const Tally tally = judge(c, fit_clock(c.evidence));
    const std::lock_guard lock(mutex);
    total.add(tally);
    by_kind[i % 3].add(tally);
  });
  for (const auto& [name, t] :
       {std::pair("probes", by_kind[0]), {"device", by_kind[1]}, {"ranks", by_kind[2]}, {"all", total}}) {
    std::printf(
        "%-7s %6ld cases: %6ld inside the bound (%.3f %%), %ld inconsistent, %.3f %% of records without a "
        "bound; %ld steps, "
        "%ld cases with another number of settings; corrupt: %ld injected, %ld missed, %ld of %ld others "
        "blamed; %ld violations left\n",
        name, t.cases, t.inside, 100.0 * double(t.inside) / double(t.cases), t.inconsistent,
        100.0 * double(t.unknown) / double(t.records), t.steps, t.segments_wrong, t.corrupt_injected,
        t.corrupt_missed, t.innocents, t.records, t.violations_left);
  }
  EXPECT_GE(double(total.inside), 0.999 * double(total.cases));
  EXPECT_EQ(total.violations_left, 0);
  EXPECT_EQ(total.inconsistent, 0);
  EXPECT_LE(double(total.unknown), 0.02 * double(total.records));
  EXPECT_LE(double(total.corrupt_missed), 0.01 * double(total.corrupt_injected));
  EXPECT_LE(double(total.innocents), 0.0001 * double(total.records));
}

/// The exact answer for few limits: every corner of the set of lines is where two limits meet.
class Oracle {
 public:
  explicit Oracle(const ClockEvidence& evidence) {
    const OffsetLimit& first = evidence.limits.front();
    for (const OffsetLimit& limit : evidence.limits) {
      const auto x = static_cast<long double>(limit.at_ns - first.at_ns);
      const auto y = static_cast<long double>(limit.offset_ns - first.offset_ns);
      rows_.push_back({1, x, y, limit.side == LimitSide::kLower});
      low_ = std::min(low_, x);
      high_ = std::max(high_, x);
    }
    rows_.push_back({0, 1, -200e-6L, true});
    rows_.push_back({0, 1, 200e-6L, false});
  }

  /// Half of what the lines span at the end where they span more.
  double half_width() const {
    long double least[2] = {INFINITY, INFINITY}, most[2] = {-INFINITY, -INFINITY};
    for (size_t i = 0; i < rows_.size(); i++) {
      for (size_t j = i + 1; j < rows_.size(); j++) {
        const long double det = rows_[i].a * rows_[j].b - rows_[j].a * rows_[i].b;
        if (det == 0) continue;
        const long double offset = (rows_[i].c * rows_[j].b - rows_[j].c * rows_[i].b) / det;
        const long double slope = (rows_[i].a * rows_[j].c - rows_[j].a * rows_[i].c) / det;
        if (!allows(offset, slope)) continue;
        for (const int end : {0, 1}) {
          const long double value = offset + slope * (end == 0 ? low_ : high_);
          least[end] = std::min(least[end], value);
          most[end] = std::max(most[end], value);
        }
      }
    }
    return static_cast<double>(std::max(most[0] - least[0], most[1] - least[1]) / 2);
  }

 private:
  struct Row {
    long double a, b, c;  // a offset + b slope against c
    bool at_least;
  };
  bool allows(long double offset, long double slope) const {
    return std::all_of(rows_.begin(), rows_.end(), [&](const Row& row) {
      const long double value = row.a * offset + row.b * slope - row.c;
      const long double tolerance = row.a == 0 ? 1e-12L : 0.01L;
      return row.at_least ? value >= -tolerance : value <= tolerance;
    });
  }
  std::vector<Row> rows_;
  long double low_ = 0, high_ = 0;
};

/// The same case with its first few limits of either side, so that the oracle can look at all pairs.
Case shortened(Case c, size_t most) {
  std::vector<OffsetLimit> kept;
  size_t sides[2] = {0, 0};
  for (const OffsetLimit& limit : c.evidence.limits) {
    if (sides[static_cast<size_t>(limit.side)]++ < most) kept.push_back(limit);
  }
  c.evidence.limits = std::move(kept);
  return c;
}

TEST(ClockFit, BoundIsNearThatOfAnExactOracle) {
  std::vector<double> ratios;
  std::mutex mutex;
  for_cases(kOracleCases, [&](int i) {
    const Case c = shortened(make_case(static_cast<uint64_t>(i), true), 20);
    const ClockFit fit = fit_clock(c.evidence);
    if (!fit.bound_ns()) return;
    const double ratio = static_cast<double>(*fit.bound_ns()) / Oracle(c.evidence).half_width();
    const std::lock_guard lock(mutex);
    ratios.push_back(ratio);
  });
  std::sort(ratios.begin(), ratios.end());
  const auto at = [&](double q) { return ratios[static_cast<size_t>(q * double(ratios.size() - 1))]; };
  std::printf("bound / oracle in %zu cases: least %.3f, median %.3f, p99 %.3f, most %.3f\n", ratios.size(),
              at(0), at(0.5), at(0.99), at(1));
  EXPECT_GT(ratios.size(), static_cast<size_t>(kOracleCases / 2));
  EXPECT_LE(at(0.5), 3);
  EXPECT_GE(at(0), 0.999) << "a bound below the exact one is no guarantee";
}

TEST(ClockFit, CorruptRecordsDoNotBendTheFit) {
  int seen = 0;
  for (uint64_t seed = 0; seed < 600; seed++) {
    const Case c = make_case(seed);
    if (c.injected.empty() || !c.world.steps.empty()) continue;
    ClockEvidence sound = c.evidence;
    std::erase_if(sound.limits, [&](const OffsetLimit& l) { return c.injected.contains(l.record); });
    const ClockFit with = fit_clock(c.evidence), without = fit_clock(sound);
    const bool all_found = std::all_of(c.injected.begin(), c.injected.end(),
                                       [&](uint32_t record) { return with.is_corrupt(record); });
    if (!all_found || with.corrupt.size() != c.injected.size()) continue;
    seen++;
    // Several lines may be equally good; each is no farther from the other than the bound, which is the same.
    const auto most = [](const ClockFit& fit) {
      int64_t bound = 0;
      for (const auto& segment : fit.segments) bound = std::max(bound, segment.bound_ns.value_or(0));
      return static_cast<double>(bound);
    };
    ASSERT_NEAR(most(with), most(without), 2) << "case " << seed;
    for (const auto& [since, reading] : c.readings)
      ASSERT_LE(std::fabs(double(with.map(reading) - without.map(reading))), most(without))
          << "case " << seed;
  }
  EXPECT_GT(seen, 100);
}

// ---- Single things
// ------------------------------------------------------------------------------------------------

TEST(ClockFit, BracketsProveTheSameClock) {
  ClockEvidence evidence;
  for (uint32_t i = 0; i < 100; i++)
    evidence.add_probe(i * 1'000'000, i * 1'000'000 + 700, i * 1'000'000 + 900, i);
  const ClockFit fit = fit_clock(evidence, {.keep_assumed = true});
  EXPECT_TRUE(brackets_prove_same_clock(fit));
  EXPECT_EQ(fit.map(5'000'000), 5'000'000);
  EXPECT_EQ(fit.min_rtt_ns, 900);
  EXPECT_LE(*fit.bound_ns(), 900 + 2);
  evidence.add_probe(100'000'000, 100'000'901, 100'000'900, 100);
  EXPECT_FALSE(brackets_prove_same_clock(fit_clock(evidence)));
}

TEST(ClockFit, OneProbeGivesHalfItsRoundTrip) {
  ClockEvidence evidence;
  evidence.add_probe(1'000, 501'000, 3'000, 0);
  const ClockFit fit = fit_clock(evidence);
  EXPECT_NEAR(double(fit.map(2'000) - 501'000), 0, 1);
  EXPECT_NEAR(double(*fit.bound_ns()), 1'000, 3);
  EXPECT_GT(*fit.bound_at(1'000'000'000), *fit.bound_ns()) << "it grows outside the evidence";
}

TEST(ClockFit, FindsOffsetAndSkew) {
  ClockEvidence evidence;
  for (int64_t i = 0; i < 1000; i++) {
    const int64_t c = 1'000'000'000'000'000'000 + i * 10'000'000;
    evidence.add_probe(c - 500, c + 250'000 + i * 500, c + 500, static_cast<uint32_t>(i));  // 50 ppm
  }
  const ClockFit fit = fit_clock(evidence);
  ASSERT_EQ(fit.segments.size(), 1u);
  EXPECT_NEAR(fit.segments[0].drift_ppm, 50, 0.1);
  EXPECT_NEAR(double(fit.map(1'000'000'000'000'000'000) - 1'000'000'000'000'250'000), 0, 500);
  EXPECT_EQ(fit.violations_before, 1000);
  EXPECT_EQ(fit.violations_after, 0);
}

TEST(ClockFit, OneSidedEvidenceHasNoBound) {
  ClockEvidence evidence;
  for (uint32_t i = 0; i < 50; i++) evidence.add_launch(i * 1'000 + 700, i * 1'000, i);
  const ClockFit fit = fit_clock(evidence);
  EXPECT_EQ(fit.violations_before, 50);
  EXPECT_EQ(fit.violations_after, 0);
  EXPECT_FALSE(fit.bound_ns());
  EXPECT_FALSE(fit.bound_at(10));
}

TEST(ClockFit, KeepsTheAssumptionWhileNothingContradictsIt) {
  ClockEvidence evidence;
  for (uint32_t i = 0; i < 50; i++) {
    evidence.add_launch(i * 10'000, i * 10'000 + 2'000, i);
    evidence.add_sync(i * 10'000 + 5'000, i * 10'000 + 8'000, i);
  }
  const ClockFit fit = fit_clock(evidence, {.keep_assumed = true});
  EXPECT_TRUE(fit.keeps_assumed);
  EXPECT_EQ(fit.map(123'456), 123'456);
  EXPECT_GE(*fit.bound_ns(), 3'000) << "the identity is not the middle of what is allowed";
}

TEST(ClockFit, TellsWhenTheClockWasSet) {
  ClockEvidence evidence;
  for (int64_t i = 0; i < 200; i++) {
    const int64_t shift = i < 100 ? 0 : 5'000'000;
    evidence.add_probe(i * 1'000'000 + shift - 1'000, i * 1'000'000, i * 1'000'000 + shift + 1'000,
                       static_cast<uint32_t>(i));
  }
  const ClockFit fit = fit_clock(evidence);
  EXPECT_NEAR(double(fit.map(50'000'000) - 50'000'000), 0, 1'000);
  EXPECT_NEAR(double(fit.map(155'000'000) - 150'000'000), 0, 1'000);
  EXPECT_TRUE(fit.segment_at(102'000'000).is_transition);
  EXPECT_TRUE(fit.corrupt.empty());
  EXPECT_EQ(fit.violations_after, 0);
}

TEST(ClockFit, GivesUpWhereNothingFits) {
  ClockEvidence evidence;
  Random random(3);
  for (uint32_t i = 0; i < 3'000; i++) {
    const int64_t shift = random.whole(-1'000'000'000, 1'000'000'000);
    evidence.add_probe(i * 1'000, i * 1'000 + shift, i * 1'000 + 10, i);
  }
  const ClockFit fit = fit_clock(evidence);
  EXPECT_FALSE(fit.consistent);
  EXPECT_TRUE(fit.segments.empty());
  EXPECT_FALSE(fit.bound_ns());
}

TEST(ClockFit, TakesHostileTimes) {
  ClockEvidence evidence;
  for (uint32_t i = 0; i < 10; i++) {
    evidence.add_probe(INT64_MIN, INT64_MAX, INT64_MAX, i);
    evidence.add_probe(INT64_MAX, INT64_MIN, INT64_MIN, i);
    evidence.add_collective(INT64_MAX, INT64_MIN, 0, -1, i, INT64_MAX);
    evidence.add_launch(0, 0, i);
  }
  const ClockFit fit = fit_clock(evidence);
  if (fit.consistent) fit.map(INT64_MAX);
  EXPECT_FALSE(fit.corrupt.empty());
  EXPECT_FALSE(fit_clock({}).consistent);
}

/// All limits are corners of the hull: the worst that time can do.
TEST(ClockFit, TakesManyCornersInTime) {
  ClockEvidence evidence;
  for (int64_t i = 0; i < 90'000; i++) {
    const int64_t x = i - 45'000;
    evidence.not_before(i * 1'000'000, -x * x / 1'000, static_cast<uint32_t>(i));
    evidence.limits.back().offset_ns = -x * x / 1'000;
    evidence.not_after(i * 1'000'000, 0, static_cast<uint32_t>(i));
    evidence.limits.back().offset_ns = 1'000 + x * x / 1'000;
  }
  const ClockFit fit = fit_clock(evidence);
  ASSERT_TRUE(fit.consistent);
  EXPECT_EQ(fit.violations_after, 0);
  EXPECT_TRUE(fit.corrupt.empty());
}

TEST(ClockFit, ClassifiesKernelsThatStartTooEarly) {
  ClockEvidence evidence;
  for (uint32_t i = 0; i < 100; i++) {
    const int64_t launch = i * 100'000;
    int64_t start = launch + 3'000 - 20'000;  // the device is 20 us behind
    if (i == 40) start -= 2'000'000'000;
    evidence.add_launch(launch, start, i);
    evidence.add_sync(start + 10'000, launch + 15'000, i);
  }
  const ClockFit fit = fit_clock(evidence);
  EXPECT_EQ(classify_early_start({500'000, 483'000, 493'000, {}}, fit, 5), EarlyStart::kClockError);
  EXPECT_EQ(classify_early_start({4'000'000, 4'003'000 - 2'000'020'000, 0, {}}, fit, 40),
            EarlyStart::kRecordCorruption);
  EXPECT_EQ(classify_early_start({500'000, 100'000, 110'000, {}}, fit, 5), EarlyStart::kRecordCorruption)
      << "no mapping explains it";
  EXPECT_EQ(classify_early_start({500'000, 510'000, 520'000, 512'000}, fit, 5),
            EarlyStart::kProgrammaticOverlap);
  EXPECT_EQ(classify_early_start({500'000, 510'000, 520'000, 509'000}, fit, 5), EarlyStart::kNone);
}

TEST(ClockFit, CloserThanTheBoundIsNotResolvable) {
  EXPECT_TRUE(resolvable(1'000, 2'001, 1'000));
  EXPECT_FALSE(resolvable(1'000, 2'000, 1'000));
  EXPECT_FALSE(resolvable(1'000, 9'000, std::nullopt));
}

}  // namespace
}  // namespace nl::assemble
