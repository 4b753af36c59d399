#include "analyze/time/collectives.h"

#include <algorithm>
#include <map>
#include <set>

#include "analyze/load/launches.h"
#include "store/open_run.h"

namespace nl::analyze {
namespace {

using assemble::CollectiveCall;
using assemble::CollectiveInstance;
using assemble::CollectiveKind;
using assemble::LoadedFits;
using assemble::MatchedCollectives;
using Calls = std::vector<CollectiveCall>;

int64_t duration(const CollectiveCall& call) {
  return call.end_ns - call.start_ns;
}

std::optional<int64_t> median_of(PagedVector<int64_t> values) {
  return values.empty() ? std::nullopt : std::optional(median(values));
}

}  // namespace

CollectiveTimes times_without_clocks(const Calls& calls, const CollectiveInstance& instance) {
  CollectiveTimes times;
  times.transfer_ns = INT64_MAX;
  for (size_t i = 0; i < instance.calls.size(); i++) {
    const int64_t took = duration(calls[instance.calls[i]]);
    if (took < times.transfer_ns) times.last = i;
    times.transfer_ns = std::min(times.transfer_ns, took);
  }
  for (const uint32_t call : instance.calls)
    times.waits_ns.push_back(duration(calls[call]) - times.transfer_ns);
  return times;
}

std::optional<ClockedTimes> times_with_clocks(const Calls& calls, const CollectiveInstance& instance,
                                              const LoadedFits& fits) {
  ClockedTimes clocked;
  int64_t last_start = INT64_MIN, last_end = INT64_MIN, widest = 0, second = 0;
  PagedVector<int64_t> starts;
  for (const uint32_t i : instance.calls) {
    const CollectiveCall& call = calls[i];
    const auto bound = fits.bound_at(call.clock, call.start_ns);
    if (!bound) return std::nullopt;
    second = std::max(second, std::min(widest, *bound));
    widest = std::max(widest, *bound);
    starts.push_back(fits.map(call.clock, call.start_ns));
    last_end = std::max(last_end, fits.map(call.clock, call.end_ns));
    if (starts.back() > last_start) clocked.times.last = starts.size() - 1;
    last_start = std::max(last_start, starts.back());
  }
  for (const int64_t start : starts) clocked.times.waits_ns.push_back(last_start - start);
  clocked.times.transfer_ns = last_end - last_start;
  clocked.bound_ns = widest + second;
  return clocked;
}

std::optional<double> bus_factor(CollectiveKind kind, int64_t ranks) {
  if (ranks < 2) return std::nullopt;
  const double share = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2 * share;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      return share;
    default:
      return std::nullopt;
  }
}

Calls calls_inside(Calls calls, const LoadedFits& fits, const IntervalSet& window) {
  std::erase_if(calls, [&](const CollectiveCall& call) {
    return !contains(window, fits.map(call.clock, call.start_ns));
  });
  return calls;
}

namespace {

/// Sums over the collectives of one kind and group.
struct KindSums {
  int64_t calls = 0;
  std::optional<int64_t> group_size = {};
  PagedVector<int64_t> transfers = {}, sizes = {}, durations = {};
  int64_t transfer_ns = 0, bytes = 0, sized = 0, sized_transfer_ns = 0;
  std::map<int32_t, RankWait> waits = {};
};

/// How far waits with and without clocks agree.
struct Agreement {
  int64_t compared = 0, resolvable = 0, agreeing = 0, without_bound = 0;
  int64_t worst_ns = 0;
  PagedVector<int64_t> bounds = {};
  std::map<int32_t, RankWait> waits = {};
};

class Report {
 public:
  Report(const Calls& calls, const LoadedFits& fits, int64_t window_ns)
      : calls_(calls), fits_(fits), window_ns_(window_ns), matched_(assemble::match_collectives(calls)) {
    for (const CollectiveCall& call : calls) ranks_.insert(call.rank);
  }

  CollectivesAnswer build() {
    for (const CollectiveCall& call : calls_) add_call(call);
    CollectivesAnswer answer{.ranks = {ranks_.begin(), ranks_.end()},
                             .calls = static_cast<int64_t>(calls_.size())};
    if (ranks_.size() > 1) {
      for (const CollectiveInstance& instance : matched_.instances) add_instance(instance);
      answer.matched = static_cast<int64_t>(matched_.instances.size());
      answer.unmatched_calls = matched_.unmatched_calls;
      answer.different_sizes = matched_.different_sizes;
    }
    answer.kinds = kinds();
    answer.waits = list_of(waits_);
    answer.straggler = straggler();
    answer.clocks = clocks();
    answer.point_to_point = point_to_point();
    if (std::string reason = absent_reason(); !reason.empty()) answer.absent = std::move(reason);
    return answer;
  }

 private:
  using Key = std::pair<CollectiveKind, std::string_view>;  // text of a call

  std::string absent_reason() const {
    if (calls_.empty()) return "no collectives in the window";
    if (ranks_.size() < 2) return "the run has one rank: nothing to compare with";
    return syncing_ == 0 ? "no collective was found on several ranks" : "";
  }

  void add_call(const CollectiveCall& call) {
    if (is_point_to_point(call.kind)) return;
    KindSums& sums = kinds_[{call.kind, call.group.str()}];
    sums.calls++;
    sums.durations.push_back(duration(call));
    if (call.group_size) sums.group_size = call.group_size;
  }

  void add_instance(const CollectiveInstance& instance) {
    if (!syncs_implicitly(instance.kind)) return;
    syncing_++;
    const CollectiveTimes times = times_without_clocks(calls_, instance);
    KindSums& sums = kinds_[{instance.kind, instance.group.str()}];
    sums.transfers.push_back(times.transfer_ns);
    sums.transfer_ns += times.transfer_ns;
    if (instance.bytes && times.transfer_ns > 0) {
      sums.sizes.push_back(*instance.bytes);
      sums.bytes += *instance.bytes;
      sums.sized++;
      sums.sized_transfer_ns += times.transfer_ns;
    }
    add_waits(instance, times, sums.waits);
    add_waits(instance, times, waits_);
    const int32_t last = calls_[instance.calls[times.last]].rank;
    int64_t others = 0;
    for (const int64_t wait : times.waits_ns) others += wait;
    waited_for_[last] += others / static_cast<int64_t>(times.waits_ns.size() - 1);
    compare_with_clocks(instance, times);
  }

  void add_waits(const CollectiveInstance& instance, const CollectiveTimes& times,
                 std::map<int32_t, RankWait>& waits) const {
    for (size_t i = 0; i < instance.calls.size(); i++) {
      RankWait& wait = waits[calls_[instance.calls[i]].rank];
      wait.rank = calls_[instance.calls[i]].rank;
      wait.wait_ns += times.waits_ns[i];
      wait.last += i == times.last;
    }
  }

  void compare_with_clocks(const CollectiveInstance& instance, const CollectiveTimes& times) {
    const auto clocked = times_with_clocks(calls_, instance, fits_);
    if (!clocked) {
      agreement_.without_bound++;
      return;
    }
    add_waits(instance, clocked->times, agreement_.waits);
    agreement_.bounds.push_back(clocked->bound_ns);
    agreement_.compared++;
    const int64_t longest = *std::max_element(times.waits_ns.begin(), times.waits_ns.end());
    agreement_.resolvable += assemble::resolvable(longest, 0, clocked->bound_ns);
    int64_t apart = std::abs(clocked->times.transfer_ns - times.transfer_ns);
    for (size_t i = 0; i < times.waits_ns.size(); i++)
      apart = std::max(apart, std::abs(clocked->times.waits_ns[i] - times.waits_ns[i]));
    agreement_.worst_ns = std::max(agreement_.worst_ns, apart);
    // Ranks leave a collective one after the other: the shortest call is not the one that began last.
    agreement_.agreeing += apart <= clocked->bound_ns;
  }

  std::vector<CollectiveKindAnswer> kinds() const {
    std::vector<CollectiveKindAnswer> list;
    list.reserve(kinds_.size());
    for (const auto& [key, sums] : kinds_) list.push_back(kind_of(key, sums));
    std::stable_sort(
        list.begin(), list.end(),
        [](const CollectiveKindAnswer& a, const CollectiveKindAnswer& b) { return a.total_ns > b.total_ns; });
    return list;
  }

  static CollectiveKindAnswer kind_of(const Key& key, const KindSums& sums) {
    CollectiveKindAnswer row{.kind = std::string(collective_kind_name(key.first)),
                             .group = std::string(key.second),
                             .group_size = sums.group_size,
                             .calls = sums.calls,
                             .dur_p50_ns = median_of(sums.durations),
                             .collectives = static_cast<int64_t>(sums.transfers.size()),
                             .bytes_p50 = median_of(sums.sizes),
                             .transfer_p50_ns = median_of(sums.transfers),
                             .waits = list_of(sums.waits)};
    for (const int64_t took : sums.durations) row.total_ns += took;
    if (!sums.transfers.empty()) row.transfer_ns = sums.transfer_ns;
    add_bandwidth(key.first, sums, row);
    return row;
  }

  static void add_bandwidth(CollectiveKind kind, const KindSums& sums, CollectiveKindAnswer& row) {
    const auto factor = bus_factor(kind, sums.group_size.value_or(static_cast<int64_t>(sums.waits.size())));
    if (!factor || sums.sized == 0) return;
    const double rate =
        static_cast<double>(sums.bytes) / (static_cast<double>(sums.sized_transfer_ns) * 1e-9);
    row.algbw_bytes_per_s = rate;
    row.busbw_bytes_per_s = rate * *factor;
  }

  static std::vector<RankWait> list_of(const std::map<int32_t, RankWait>& waits) {
    std::vector<RankWait> list;
    list.reserve(waits.size());
    for (const auto& [rank, wait] : waits) list.push_back(wait);
    return list;
  }

  /// The rank that waited least; it must also be the one that is most often last.
  std::optional<StragglerAnswer> straggler() const {
    if (waits_.size() < 2 || syncing_ == 0) return std::nullopt;
    const auto less = [](const auto& a, const auto& b) { return a.second.wait_ns < b.second.wait_ns; };
    const auto least = std::min_element(waits_.begin(), waits_.end(), less);
    const auto most_last = std::max_element(waits_.begin(), waits_.end(), [](const auto& a, const auto& b) {
      return a.second.last < b.second.last;
    });
    const auto waited = waited_for_.find(least->first);
    StragglerAnswer answer{
        .rank = least->first,
        .most_often_last = most_last->first,
        .last_share = static_cast<double>(least->second.last) / static_cast<double>(syncing_),
        .waited_ns = waited == waited_for_.end() ? 0 : waited->second};
    if (window_ns_ > 0)
      answer.window_share = static_cast<double>(answer.waited_ns) / static_cast<double>(window_ns_);
    return answer;
  }

  std::optional<ClockAgreement> clocks() const {
    if (ranks_.size() < 2 || syncing_ == 0) return std::nullopt;
    std::set<std::string> methods;
    for (const auto& [clock, method] : fits_.methods) methods.insert(method);
    ClockAgreement answer{.compared = agreement_.compared,
                          .without_bound = agreement_.without_bound,
                          .resolvable = agreement_.resolvable,
                          .agreeing = agreement_.agreeing,
                          .bound_p50_ns = median_of(agreement_.bounds),
                          .waits = list_of(agreement_.waits),
                          .methods = {methods.begin(), methods.end()}};
    if (agreement_.compared == 0) return answer;
    answer.worst_difference_ns = agreement_.worst_ns;
    answer.agree = agreement_.agreeing == agreement_.compared;
    return answer;
  }

  std::vector<PointToPointAnswer> point_to_point() const {
    std::map<std::pair<CollectiveKind, int32_t>, std::pair<int64_t, int64_t>> sums;
    for (const CollectiveCall& call : calls_) {
      if (!is_point_to_point(call.kind)) continue;
      auto& [count, took] = sums[{call.kind, call.rank}];
      count++;
      took += duration(call);
    }
    std::vector<PointToPointAnswer> list;
    list.reserve(sums.size());
    for (const auto& [key, sum] : sums)
      list.push_back({std::string(collective_kind_name(key.first)), key.second, sum.first, sum.second});
    return list;
  }

  const Calls& calls_;
  const LoadedFits& fits_;
  const int64_t window_ns_;
  const MatchedCollectives matched_;
  std::set<int32_t> ranks_;
  std::map<Key, KindSums> kinds_;
  std::map<int32_t, RankWait> waits_;
  std::map<int32_t, int64_t> waited_for_;
  Agreement agreement_;
  int64_t syncing_ = 0;
};

}  // namespace

CollectivesAnswer collectives_of(const Calls& calls, const LoadedFits& fits, int64_t window_ns) {
  return Report(calls, fits, window_ns).build();
}

/// By the names that were loaded already: most runs have none, and then nothing else is read.
static bool has_collectives(const Timeline& timeline) {
  std::vector<bool> is_of_kernel(timeline.names.size());
  for (const uint32_t name : timeline.kernels.name) is_of_kernel[name] = true;
  for (uint32_t name = 0; name < timeline.names.size(); name++) {
    if (is_of_kernel[name] && assemble::is_collective_name(timeline.names[name])) return true;
  }
  return false;
}

Result<CollectivesAnswer> run_collectives(store::OpenRun& run, const Timeline& timeline,
                                          const IntervalSet& window) {
  Calls calls;
  LoadedFits fits;
  if (has_collectives(timeline)) {
    NL_TRY(store::Connection * views, run.ask({"kernels", "clock_fits"}));
    // On the sources' own clocks, which needs other views and so another connection.
    NL_TRY(store::Engine * engine, run.engine());
    NL_TRY(auto stored, engine->connect());
    NL_CHECK(assemble::create_stored_views(stored, run.files(), run.files().derived));
    NL_TRY(calls, assemble::load_collectives(stored));
    NL_TRY(fits, assemble::load_clock_fits(*views, run.files().clocks));
  }
  int64_t length = 0;
  for (const Interval& part : window) length += part.length();
  return collectives_of(calls_inside(std::move(calls), fits, window), fits, length);
}

}  // namespace nl::analyze
