#pragma once
// The part of an analysis about the collectives of a run.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/described.h"

namespace nl::analyze {

/// What the time of a call is made of, on one rank.
struct RankWait {
  int32_t rank = 0;
  int64_t wait_ns = 0;  ///< in all its collectives with implicit synchronisation
  int64_t last = 0;     ///< how often no rank waited less

  static constexpr auto fields() {
    return std::tuple{field("rank", &RankWait::rank, "number of the rank"),
                      field("wait_ns", &RankWait::wait_ns, "time that it waited for other ranks"),
                      field("last", &RankWait::last, "how often it was the rank that waited least")};
  }
};

/// Collectives of one kind in one group of ranks.
struct CollectiveKindAnswer {
  std::string kind = {};
  std::string group = {};
  std::optional<int64_t> group_size = {};
  int64_t calls = 0;
  int64_t total_ns = 0;
  std::optional<int64_t> dur_p50_ns = {};
  int64_t collectives = 0;
  std::optional<int64_t> bytes_p50 = {};
  std::optional<int64_t> transfer_ns = {};
  std::optional<int64_t> transfer_p50_ns = {};
  std::optional<double> algbw_bytes_per_s = {};
  std::optional<double> busbw_bytes_per_s = {};
  std::vector<RankWait> waits = {};

  static constexpr auto fields() {
    using C = CollectiveKindAnswer;
    return std::tuple{
        field("kind", &C::kind, "all_reduce, all_gather, …"),
        field("group", &C::group, "name of the group in the source"),
        field("group_size", &C::group_size, "ranks of the group"),
        field("calls", &C::calls, "calls on all ranks"),
        field("total_ns", &C::total_ns, "sum of the calls of all ranks"),
        field("dur_p50_ns", &C::dur_p50_ns, "median of the calls"),
        field("collectives", &C::collectives, "collectives: calls of several ranks that belong together"),
        field("bytes_p50", &C::bytes_p50, "median of the bytes of a collective"),
        field("transfer_ns", &C::transfer_ns, "sum of the quickest call of each collective"),
        field("transfer_p50_ns", &C::transfer_p50_ns, "median of the quickest calls"),
        field("algbw_bytes_per_s", &C::algbw_bytes_per_s, "bytes over transfer time"),
        field("busbw_bytes_per_s", &C::busbw_bytes_per_s, "bus bandwidth, as nccl-tests define it"),
        field("waits", &C::waits, "by rank")};
  }
};

/// The rank that waited least.
struct StragglerAnswer {
  int32_t rank = 0;
  int32_t most_often_last = 0;
  double last_share = 0;
  int64_t waited_ns = 0;
  std::optional<double> window_share = {};

  static constexpr auto fields() {
    using S = StragglerAnswer;
    return std::tuple{field("rank", &S::rank, "the rank that waited least"),
                      field("most_often_last", &S::most_often_last, "rank"),
                      field("last_share", &S::last_share, "share of the collectives in which it was last"),
                      field("waited_ns", &S::waited_ns, "how long each of the others waited for it"),
                      field("window_share", &S::window_share, "this waiting as a share of the window")};
  }
};

/// How far waits agree that are computed with and without clocks.
struct ClockAgreement {
  int64_t compared = 0;
  int64_t without_bound = 0;
  int64_t resolvable = 0;
  int64_t agreeing = 0;
  std::optional<int64_t> bound_p50_ns = {};
  std::optional<int64_t> worst_difference_ns = {};
  std::vector<RankWait> waits = {};
  std::vector<std::string> methods = {};
  std::optional<bool> agree = {};

  static constexpr auto fields() {
    using C = ClockAgreement;
    return std::tuple{
        field("compared", &C::compared, "collectives whose ranks have known clocks"),
        field("without_bound", &C::without_bound, "collectives whose ranks have not"),
        field("resolvable", &C::resolvable, "waits that are longer than the bound of the clocks"),
        field("agreeing", &C::agreeing, "within the bound"),
        field("bound_p50_ns", &C::bound_p50_ns, "median of the bounds of the clocks"),
        field("worst_difference_ns", &C::worst_difference_ns, "largest difference between both ways"),
        field("waits", &C::waits, "waits measured by the clocks"),
        field("methods", &C::methods, "how the clocks were fitted"),
        field("agree", &C::agree, "all that were compared")};
  }
};

struct PointToPointAnswer {
  std::string kind = {};
  int32_t rank = 0;
  int64_t calls = 0;
  int64_t total_ns = 0;

  static constexpr auto fields() {
    using P = PointToPointAnswer;
    return std::tuple{field("kind", &P::kind, "send or receive"), field("rank", &P::rank, "that called"),
                      field("calls", &P::calls, "of this kind on this rank"),
                      field("total_ns", &P::total_ns, "sum of the calls")};
  }
};

struct CollectivesAnswer {
  std::vector<int32_t> ranks = {};
  int64_t calls = 0;
  std::optional<int64_t> matched = {};
  std::optional<int64_t> unmatched_calls = {};
  std::optional<int64_t> different_sizes = {};
  std::vector<CollectiveKindAnswer> kinds = {};
  std::vector<RankWait> waits = {};
  std::optional<StragglerAnswer> straggler = {};
  std::optional<ClockAgreement> clocks = {};
  std::vector<PointToPointAnswer> point_to_point = {};
  std::optional<std::string> absent = {};

  static constexpr auto fields() {
    using C = CollectivesAnswer;
    return std::tuple{
        field("ranks", &C::ranks, "ranks that call collectives"),
        field("calls", &C::calls, "calls in the window"),
        field("matched", &C::matched, "collectives whose calls were found on several ranks"),
        field("unmatched_calls", &C::unmatched_calls, "calls that belong to no collective of several ranks"),
        field("different_sizes", &C::different_sizes, "collectives whose ranks report different sizes"),
        field("kinds", &C::kinds, "by time"),
        field("waits", &C::waits, "how long each rank waited in all collectives"),
        field("straggler", &C::straggler, "the rank that the others waited for; null if there is none"),
        field("clocks", &C::clocks,
              "waits measured by the clocks, to compare with those measured without; null if nothing can be "
              "compared"),
        field("point_to_point", &C::point_to_point, "messages between two ranks"),
        field_if_any("absent", &C::absent, "why there are no waits")};
  }
};

}  // namespace nl::analyze
