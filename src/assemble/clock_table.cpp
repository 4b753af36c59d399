// Collects the evidence for clock fits and writes the table clock_fits. A device is fitted to its host by
// causality: no kernel starts before its launch, and no synchronising call returns before the kernels it
// waits for. Ranks are fitted to each other by collectives, starting at the lowest rank and going on from
// each rank that is fitted, so a rank that shares no collective with the first one is still reached.

#include "assemble/clock_table.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "assemble/derived_writer.h"
#include "store/run_views.h"

namespace nl::assemble {
namespace {

using model::kNull;
using model::TableId;
using store::Chunk;
using store::Connection;
namespace columns = model::clock_fits;

// Kernels kept per device. When there are more, only the tightest of each two neighbours is kept.
constexpr size_t kMostKernels = 400'000;
constexpr size_t kFewKernels = 16'384;

/// One fit as the table shows it.
struct FitRow {
  int32_t clock = 0, reference = 0;
  std::optional<int32_t> device = {};
  std::string method = {};
  bool applied = false;
  ClockFit fit = {};
};

// ---- Devices

/// Kernels with their launches, and calls that wait for all work of the device.
struct DeviceEvidence {
  struct Kernel {
    int64_t launch, start, end;
  };
  struct Sync {
    int64_t called, returned;
  };
  std::vector<Kernel> kernels = {};
  PagedVector<Sync> syncs = {};
};

/// Clock and number of a device.
using DeviceKey = std::pair<int32_t, int32_t>;
using Devices = std::map<DeviceKey, DeviceEvidence>;

void sort_by_launch(std::vector<DeviceEvidence::Kernel>& kernels) {
  std::sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) {
    return std::tie(a.launch, a.start, a.end) < std::tie(b.launch, b.start, b.end);
  });
}

/// Keeps the one of each two neighbours that starts sooner after its launch: it is the tighter limit.
void halve(std::vector<DeviceEvidence::Kernel>& kernels) {
  sort_by_launch(kernels);
  const auto delay = [](const DeviceEvidence::Kernel& k) {
    return static_cast<long double>(k.start) - static_cast<long double>(k.launch);
  };
  for (size_t i = 0; i + 1 < kernels.size(); i += 2)
    kernels[i / 2] = delay(kernels[i]) <= delay(kernels[i + 1]) ? kernels[i] : kernels[i + 1];
  kernels.resize(kernels.size() / 2);
}

/// Sorts kernels with their launches by device.
class DeviceReader {
 public:
  DeviceReader(const Collected& collected, size_t most_kernels)
      : collected_(collected), most_kernels_(most_kernels) {
    for (size_t i = 0; i < collected.kernels.size(); i++)
      add(collected.kernels[i], collected.kernel_times[i]);
    add_syncs();
  }

  Devices& devices() { return devices_; }
  int64_t violations() const { return violations_; }

 private:
  void add(const LaunchedWork& kernel, const KernelTime& time) {
    if (kernel.launch_ns == kNull || kernel.track_id < 0 || time.device == KernelTime::kSaysNothing) return;
    auto& kernels = device(clock_of(kernel.track_id), time.device).kernels;
    kernels.push_back({kernel.launch_ns, time.start_ns, time.start_ns + time.dur_ns});
    violations_ += time.start_ns < kernel.launch_ns ? 1 : 0;
    if (kernels.size() >= most_kernels_) halve(kernels);
  }

  /// Neighbours are mostly of the same device.
  DeviceEvidence& device(int32_t clock, int32_t number) {
    const DeviceKey key{clock, number};
    if (last_ == devices_.end() || last_->first != key) last_ = devices_.try_emplace(key).first;
    return last_->second;
  }

  int32_t clock_of(int32_t track) const {
    const auto at = static_cast<size_t>(track);
    return track >= 0 && at < collected_.clocks.size() ? collected_.clocks[at] : 0;
  }

  /// Only for clocks with one device: if there are several, nothing says which one a call waits for.
  void add_syncs() {
    std::map<int32_t, std::vector<DeviceEvidence*>> by_clock;
    for (auto& [key, device] : devices_) by_clock[key.first].push_back(&device);
    for (const SyncCall& sync : collected_.syncs) {
      const auto it = by_clock.find(clock_of(sync.track_id));
      if (it == by_clock.end() || it->second.size() != 1) continue;
      it->second[0]->syncs.push_back({sync.called_ns, sync.returned_ns});
    }
  }

  const Collected& collected_;
  const size_t most_kernels_;
  Devices devices_;
  Devices::iterator last_ = devices_.end();
  int64_t violations_ = 0;
};

/// The records are the launches in order. A sync is evidence for the last kernel that was launched before it.
ClockEvidence evidence_of(DeviceEvidence& device) {
  auto& kernels = device.kernels;
  sort_by_launch(kernels);
  std::sort(device.syncs.begin(), device.syncs.end(),
            [](const auto& a, const auto& b) { return a.called < b.called; });
  ClockEvidence evidence;
  size_t sync = 0;
  for (size_t i = 0; i < kernels.size(); i++) {
    const auto record = static_cast<uint32_t>(i);
    evidence.add_launch(kernels[i].launch, kernels[i].start, record);
    const int64_t next = i + 1 < kernels.size() ? kernels[i + 1].launch : INT64_MAX;
    while (sync < device.syncs.size() && device.syncs[sync].called <= kernels[i].launch) sync++;
    if (sync < device.syncs.size() && device.syncs[sync].called < next)
      evidence.add_sync(kernels[i].end, device.syncs[sync].returned, record);
  }
  return evidence;
}

/// If all limits are lower ones, nothing contradicts a corrupt record, and a single one would shift the whole
/// fit. So limits above ten times the 90th percentile, and above 100 us, are left out.
void drop_isolated(ClockEvidence& evidence) {
  const auto is_upper = [](const OffsetLimit& limit) { return limit.side == LimitSide::kUpper; };
  if (evidence.limits.empty() || std::any_of(evidence.limits.begin(), evidence.limits.end(), is_upper))
    return;
  std::vector<int64_t> offsets;
  offsets.reserve(evidence.limits.size());
  for (const OffsetLimit& limit : evidence.limits) offsets.push_back(limit.offset_ns);
  const auto most = offsets.begin() + static_cast<ptrdiff_t>(offsets.size() * 9 / 10);
  std::nth_element(offsets.begin(), most, offsets.end());
  const int64_t far = 10 * std::clamp<int64_t>(*most, 10'000, INT64_MAX / 10);
  std::erase_if(evidence.limits, [&](const OffsetLimit& limit) {
    if (limit.offset_ns > far) evidence.corrupt.push_back(limit.record);
    return limit.offset_ns > far;
  });
}

/// Decides whether the clock is wrong or only some records. A wrong clock shows in many launches: half of
/// them, or one in twenty if the fit has a bound and is therefore more reliable.
bool is_clock_error(const ClockFit& fit) {
  if (!fit.consistent || fit.keeps_assumed) return false;
  const int64_t wrong = fit.violations_before - static_cast<int64_t>(fit.corrupt.size());
  return wrong >= 2 && wrong * (fit.bound_ns() ? 20 : 2) >= fit.anchors;
}

FitRow device_row(int32_t clock, int32_t number, DeviceEvidence& device,
                  const std::vector<store::ClockBase>& clocks) {
  FitOptions options;
  options.keep_assumed = true;
  if (static_cast<size_t>(clock) < clocks.size())
    options.slack_ns = clocks[static_cast<size_t>(clock)].resolution_ns - 1;
  ClockEvidence evidence = evidence_of(device);
  drop_isolated(evidence);
  FitRow row{clock, clock, number, "causality", false, fit_clock(evidence, options)};
  row.applied = is_clock_error(row.fit);
  return row;
}

/// If every kernel starts after its launch, the tightest few are enough. Only if some start too early are all
/// looked at again with a higher limit.
std::vector<FitRow> device_rows(const Collected& collected, const std::vector<store::ClockBase>& clocks) {
  DeviceReader reader(collected, kFewKernels);
  std::optional<DeviceReader> thorough;
  if (reader.violations() > 0) thorough.emplace(collected, kMostKernels);
  std::vector<FitRow> rows;
  for (auto& [key, device] : (thorough ? *thorough : reader).devices())
    rows.push_back(device_row(key.first, key.second, device, clocks));
  return rows;
}

// ---- Ranks

/// A collective as two ranks saw it.
struct Pair {
  uint32_t mine, other;
};

class RankFitter {
 public:
  RankFitter(std::vector<RankClock> clocks, const std::vector<CollectiveCall>& calls)
      : clocks_(std::move(clocks)), calls_(calls), matched_(match_collectives(calls)) {
    std::sort(clocks_.begin(), clocks_.end(), [](const RankClock& a, const RankClock& b) {
      return std::tie(a.rank, a.clock) < std::tie(b.rank, b.clock);
    });
  }

  std::vector<RankFit> fit() {
    std::set<int32_t> waiting;
    for (size_t i = 1; i < clocks_.size(); i++) waiting.insert(clocks_[i].clock);
    std::vector<int32_t> reached = {clocks_.front().clock};
    // Breadth first: each clock is fitted over as few steps as possible, because every step adds to the
    // bound.
    for (size_t next = 0; next < reached.size(); next++) {
      for (const int32_t clock : same_as(reached[next], waiting)) {
        fits_[clock] = same_clock(clock, reached[next]);
        waiting.erase(clock);
        reached.push_back(clock);
      }
      const auto pairs = pairs_with(reached[next], waiting);
      for (const auto& [clock, shared] : pairs) {
        RankFit fit = fit_pair(clock, reached[next], shared);
        if (!fit.fit.consistent) continue;
        fits_[clock] = std::move(fit);
        waiting.erase(clock);
        reached.push_back(clock);
      }
    }
    for (const int32_t clock : waiting) fits_[clock] = without_evidence(clock);
    std::vector<RankFit> fits;
    for (size_t i = 1; i < clocks_.size(); i++) {
      fits.push_back(std::move(fits_[clocks_[i].clock]));
      for (ClockSegment& segment : fits.back().fit.segments)
        segment.offset_ns -= assumed_offset(clocks_[i].clock);
    }
    return fits;
  }

 private:
  const RankClock& clock_of(int32_t clock) const {
    return *std::find_if(clocks_.begin(), clocks_.end(),
                         [&](const RankClock& c) { return c.clock == clock; });
  }

  /// Waiting clocks that are the same clock as the reached one, under another number.
  std::vector<int32_t> same_as(int32_t reached, const std::set<int32_t>& waiting) const {
    const std::string& identity = clock_of(reached).identity;
    std::vector<int32_t> same;
    for (const int32_t clock : waiting) {
      if (!identity.empty() && clock_of(clock).identity == identity) same.push_back(clock);
    }
    return same;
  }

  RankFit same_clock(int32_t clock, int32_t reached) const {
    RankFit fit{clock, clocks_.front().clock, "same_clock", {}};
    if (const auto it = fits_.find(reached); it != fits_.end()) {
      fit.fit = it->second.fit;
      return fit;
    }
    fit.fit.consistent = true;
    fit.fit.segments.push_back({});
    fit.fit.segments.back().bound_ns = 0;
    return fit;
  }

  /// Collectives that waiting clocks share with a reached one.
  std::map<int32_t, std::vector<Pair>> pairs_with(int32_t reached, const std::set<int32_t>& waiting) const {
    std::map<int32_t, std::vector<Pair>> pairs;
    for (const CollectiveInstance& instance : matched_.instances) {
      if (!syncs_implicitly(instance.kind)) continue;
      const auto other = std::find_if(instance.calls.begin(), instance.calls.end(),
                                      [&](uint32_t call) { return calls_[call].clock == reached; });
      if (other == instance.calls.end()) continue;
      for (const uint32_t mine : instance.calls) {
        if (waiting.contains(calls_[mine].clock)) pairs[calls_[mine].clock].push_back({mine, *other});
      }
    }
    return pairs;
  }

  RankFit fit_pair(int32_t clock, int32_t reached, std::vector<Pair> pairs) const {
    std::sort(pairs.begin(), pairs.end(), [&](const Pair& a, const Pair& b) {
      return std::tie(calls_[a.other].start_ns, a.mine) < std::tie(calls_[b.other].start_ns, b.mine);
    });
    ClockEvidence evidence;
    for (size_t i = 0; i < pairs.size(); i++) {
      const CollectiveCall& mine = calls_[pairs[i].mine];
      const CollectiveCall& other = calls_[pairs[i].other];
      if (const auto seen = on_reference(reached, other))
        evidence.add_collective(mine.start_ns, mine.end_ns, seen->start, seen->end, static_cast<uint32_t>(i),
                                seen->uncertain);
    }
    FitOptions options;
    options.assumed_offset_ns = assumed_offset(clock);
    return {clock, clocks_.front().clock, "collectives", fit_clock(evidence, options)};
  }

  struct Seen {
    int64_t start, end, uncertain;
  };
  /// The call's times on the reference clock; nothing if their accuracy is unknown.
  std::optional<Seen> on_reference(int32_t clock, const CollectiveCall& call) const {
    const auto it = fits_.find(clock);
    if (it == fits_.end()) return Seen{call.start_ns, call.end_ns, 0};
    const ClockFit& fit = it->second.fit;
    const auto a = fit.bound_at(call.start_ns), b = fit.bound_at(call.end_ns);
    if (!a || !b) return std::nullopt;
    return Seen{fit.map(call.start_ns), fit.map(call.end_ns), std::max(*a, *b)};
  }

  /// The offset that follows from the bases of the clocks, without any fit.
  int64_t assumed_offset(int32_t clock) const {
    int64_t offset = 0;
    return __builtin_sub_overflow(clock_of(clock).base_ns, clocks_.front().base_ns, &offset) ? 0 : offset;
  }

  RankFit without_evidence(int32_t clock) const {
    RankFit fit{clock, clocks_.front().clock, "none", {}};
    if (!clock_of(clock).is_unix || !clocks_.front().is_unix) return fit;
    fit.method = "realtime_rendezvous";
    fit.fit.segments.push_back({});
    fit.fit.segments.back().offset_ns = assumed_offset(clock);
    return fit;
  }

  std::vector<RankClock> clocks_;
  const std::vector<CollectiveCall>& calls_;
  MatchedCollectives matched_;
  std::map<int32_t, RankFit> fits_;
};

Result<std::vector<RankClock>> load_clocks(Connection& connection,
                                           const std::vector<store::ClockBase>& bases) {
  std::vector<RankClock> clocks;
  NL_CHECK(connection.stream(
      "SELECT clock_id, coalesce(min(rank), clock_id)::INTEGER FROM tracks WHERE clock_id IS NOT NULL "
      "GROUP BY clock_id ORDER BY clock_id",
      [&](const Chunk& chunk) -> Result<void> {
        for (size_t i = 0; i < chunk.size(); i++) {
          const int32_t clock = chunk.int32s(0)[i];
          const auto at = static_cast<size_t>(clock);
          if (clock < 0 || at >= bases.size()) continue;
          clocks.push_back({clock, chunk.int32s(1)[i], bases[at].is_unix, store::base_of(bases, clock),
                            bases[at].identity});
        }
        return {};
      }));
  return clocks;
}

/// Device times that a causality fit corrects are corrected before ranks are compared.
void correct_device_times(const std::vector<FitRow>& devices, std::vector<CollectiveCall>& calls) {
  std::map<int32_t, std::vector<const FitRow*>> by_clock;
  for (const FitRow& row : devices) by_clock[row.clock].push_back(&row);
  for (CollectiveCall& call : calls) {
    const auto it = by_clock.find(call.clock);
    if (it == by_clock.end() || it->second.size() != 1 || !it->second[0]->applied) continue;
    call.start_ns = it->second[0]->fit.map(call.start_ns);
    call.end_ns = it->second[0]->fit.map(call.end_ns);
  }
}

/// None where there is one clock, as in most runs: then nothing is read.
Result<std::vector<FitRow>> rank_rows(const std::shared_ptr<store::Engine>& engine,
                                      const store::RunFiles& files, const std::string& folder,
                                      const std::vector<FitRow>& devices) {
  std::vector<FitRow> rows;
  if (files.clocks.size() < 2) return rows;
  NL_TRY(Connection connection, engine->connect());
  NL_CHECK(create_stored_views(connection, files, folder));
  NL_TRY(auto clocks, load_clocks(connection, files.clocks));
  if (clocks.size() < 2) return rows;
  NL_TRY(const bool any, has_collectives(connection));
  std::vector<CollectiveCall> calls;
  if (any) {
    NL_TRY(calls, load_collectives(connection));
  }
  correct_device_times(devices, calls);
  for (RankFit& fit : fit_ranks(std::move(clocks), calls)) {
    const bool applied = !fit.fit.segments.empty();
    rows.push_back({fit.clock, fit.reference, {}, fit.method, applied, std::move(fit.fit)});
  }
  return rows;
}

// ---- Table

int64_t or_null(std::optional<int64_t> value) {
  return value.value_or(kNull);
}

Result<void> write_segment(DerivedWriter& writer, const FitRow& row, int64_t number,
                           const ClockSegment* segment) {
  const size_t at = writer.add();
  const ClockFit& fit = row.fit;
  writer.set(at, columns::clock_id, row.clock);
  if (row.device) writer.set(at, columns::device, *row.device);
  writer.set(at, columns::segment, number);
  writer.set(at, columns::reference_clock_id, row.reference);
  writer.set_text(at, columns::method, row.method);
  writer.set(at, columns::anchors, fit.anchors);
  writer.set(at, columns::min_rtt_ns, or_null(fit.min_rtt_ns));
  writer.set(at, columns::residual_p50_ns, or_null(fit.residual_p50_ns));
  writer.set(at, columns::residual_p99_ns, or_null(fit.residual_p99_ns));
  writer.set(at, columns::violations_before, fit.violations_before);
  writer.set(at, columns::violations_after, fit.violations_after);
  writer.set(at, columns::applied, row.applied ? 1 : 0);
  writer.set(at, columns::corrupt_records, static_cast<int64_t>(fit.corrupt.size()));
  if (segment != nullptr) {
    writer.set(at, columns::from_ns, segment->from_ns);
    writer.set(at, columns::offset_ns, segment->offset_ns);
    writer.set_double(at, columns::drift_ppm, segment->drift_ppm);
    writer.set(at, columns::origin_ns, segment->origin_ns);
    writer.set(at, columns::bound_ns, or_null(segment->bound_ns));
    writer.set(at, columns::in_doubt, segment->is_transition ? 1 : 0);
  }
  return writer.flush_if_full();
}

/// A fit without segments has one row, so that its evidence is told.
Result<void> write_fit(DerivedWriter& writer, const FitRow& row) {
  const auto& segments = row.fit.segments;
  if (segments.empty()) return write_segment(writer, row, 0, nullptr);
  for (size_t i = 0; i < segments.size(); i++) {
    NL_CHECK(write_segment(writer, row, static_cast<int64_t>(i), &segments[i]));
  }
  return {};
}

}  // namespace

Result<void> create_stored_views(Connection& connection, store::RunFiles files,
                                 const std::string& derived_folder) {
  const bool has = files.tables.contains("kernels") && !derived_folder.empty();
  files.clocks.clear();
  store::use_derived(files, "");
  NL_CHECK(store::create_views(connection, files, false, {"tracks", "spans", "kernels"}));
  return connection.run(
      "CREATE TEMP VIEW kernel_links AS " +
      (has ? "SELECT file_row_number AS kernel_id, launch_span_id, op_id FROM read_parquet(" +
                 store::sql_quoted(derived_path(derived_folder, TableId::kernel_links)) +
                 ", file_row_number = true)"
           : std::string("SELECT NULL::BIGINT AS kernel_id, NULL::BIGINT AS launch_span_id, NULL::BIGINT AS "
                         "op_id WHERE false")));
}

std::vector<RankFit> fit_ranks(std::vector<RankClock> clocks, const std::vector<CollectiveCall>& calls) {
  if (clocks.empty()) return {};
  return RankFitter(std::move(clocks), calls).fit();
}

Result<void> write_clock_fits(const std::shared_ptr<store::Engine>& engine, const store::RunFiles& files,
                              const std::string& folder, const Collected& collected) {
  auto rows = device_rows(collected, files.clocks);
  NL_TRY(auto ranks, rank_rows(engine, files, folder, rows));
  std::move(ranks.begin(), ranks.end(), std::back_inserter(rows));
  if (rows.empty()) return {};
  DerivedWriter writer(engine, TableId::clock_fits, folder);
  for (const FitRow& row : rows) NL_CHECK(write_fit(writer, row));
  return writer.finish();
}

// ---- Reading it

Result<LoadedFits> load_clock_fits(Connection& connection, const std::vector<store::ClockBase>& clocks) {
  LoadedFits fits;
  for (size_t i = 0; i < clocks.size(); i++)
    fits.bases.push_back(store::base_of(clocks, static_cast<int32_t>(i)));
  NL_CHECK(connection.stream(
      "SELECT clock_id, reference_clock_id, from_ns, origin_ns, offset_ns, drift_ppm, bound_ns, method FROM "
      "clock_fits WHERE device IS NULL AND applied = 1 ORDER BY clock_id, segment",
      [&](const Chunk& chunk) -> Result<void> {
        for (size_t i = 0; i < chunk.size(); i++) {
          ClockSegment segment;
          segment.from_ns = segment.evidence_from_ns = segment.evidence_to_ns = chunk.int64s(2)[i];
          segment.origin_ns = chunk.int64s(3)[i];
          segment.offset_ns = chunk.int64s(4)[i];
          segment.drift_ppm = chunk.doubles(5)[i];
          if (!chunk.is_null(6, i)) segment.bound_ns = chunk.int64s(6)[i];
          fits.clocks[chunk.int32s(0)[i]].push_back(segment);
          fits.methods[chunk.int32s(0)[i]] = chunk.text(7, i);
          fits.reference = chunk.int32s(1)[i];
        }
        return {};
      }));
  return fits;
}

namespace {

const ClockSegment& segment_at(const std::vector<ClockSegment>& segments, int64_t time_ns) {
  const auto after = std::upper_bound(segments.begin(), segments.end(), time_ns,
                                      [](int64_t time, const ClockSegment& s) { return time < s.from_ns; });
  return after == segments.begin() ? segments.front() : *(after - 1);
}

}  // namespace

int64_t LoadedFits::map(int32_t clock, int64_t time_ns) const {
  const auto it = clocks.find(clock);
  const int64_t mapped = it == clocks.end() ? time_ns : segment_at(it->second, time_ns).map(time_ns);
  const auto at = static_cast<size_t>(clock);
  int64_t common = 0;
  const bool based = at < bases.size() && !__builtin_add_overflow(mapped, bases[at], &common);
  return based ? common : mapped;
}

std::optional<int64_t> LoadedFits::bound_at(int32_t clock, int64_t time_ns) const {
  if (clock == reference) return 0;
  const auto it = clocks.find(clock);
  return it == clocks.end() ? std::nullopt : segment_at(it->second, time_ns).bound_ns;
}

}  // namespace nl::assemble
