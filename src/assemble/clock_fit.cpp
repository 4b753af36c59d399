// Fits a clock to another one from limits of its offset. Steps: thin out the limits, split them into runs
// between two settings of the clock (clock_segments.h), find the allowed lines of each run (offset_lines.h),
// and publish the line in the middle with a bound that holds for every allowed line. The difficult part is a
// clock that was set: the same clock time may then occur twice, so stretches that several settings could have
// shown are published as in doubt, with a bound that covers them all. long double is used because differences
// of int64 times do not always fit into int64.

#include "assemble/clock_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "assemble/clock_segments.h"

namespace nl::assemble {
namespace {

constexpr double kRoundingNs = 2;        // the offset and the drift term are each rounded to whole ns
constexpr size_t kMostLimits = 100'000;  // if there are more, only the tightest of each window are used
constexpr size_t kKeptOfWindow = 2;
constexpr ptrdiff_t kTelling = 4;  // so many limits beyond a contradiction show whether the clock was set

int64_t saturated(long double value) {
  if (value >= static_cast<long double>(INT64_MAX)) return INT64_MAX;
  if (value <= static_cast<long double>(INT64_MIN)) return INT64_MIN;
  return std::llround(value);
}

int64_t rounded_up(double bound) {
  return saturated(std::ceil(static_cast<long double>(bound) + static_cast<long double>(kRoundingNs)));
}

long double offset_at(const ClockSegment& segment, int64_t time_ns) {
  const long double since = static_cast<long double>(time_ns) - static_cast<long double>(segment.origin_ns);
  return static_cast<long double>(segment.offset_ns) +
         std::round(static_cast<long double>(segment.drift_ppm) * 1e-6L * since);
}

}  // namespace

// ---- Evidence

namespace {

void add_limit(ClockEvidence& evidence, int64_t mine, int64_t other, uint32_t record, LimitSide side) {
  int64_t offset = 0;
  if (__builtin_sub_overflow(other, mine, &offset)) {
    evidence.corrupt.push_back(record);
  } else {
    evidence.limits.push_back({mine, offset, record, side});
  }
}

void add_round_trip(ClockEvidence& evidence, int64_t rtt) {
  evidence.anchors++;
  if (rtt >= 0 && (!evidence.min_rtt_ns || rtt < *evidence.min_rtt_ns)) evidence.min_rtt_ns = rtt;
}

}  // namespace

void ClockEvidence::not_before(int64_t mine, int64_t other, uint32_t record) {
  add_limit(*this, mine, other, record, LimitSide::kLower);
}

void ClockEvidence::not_after(int64_t mine, int64_t other, uint32_t record) {
  add_limit(*this, mine, other, record, LimitSide::kUpper);
}

void ClockEvidence::add_probe(int64_t before, int64_t other, int64_t after, uint32_t record) {
  add_round_trip(*this, saturated(static_cast<long double>(after) - static_cast<long double>(before)));
  not_after(before, other, record);
  not_before(after, other, record);
}

void ClockEvidence::add_launch(int64_t launch_start, int64_t kernel_start, uint32_t record) {
  anchors++;
  not_before(kernel_start, launch_start, record);
}

void ClockEvidence::add_sync(int64_t kernel_end, int64_t sync_return, uint32_t record) {
  anchors++;
  not_after(kernel_end, sync_return, record);
}

void ClockEvidence::add_collective(int64_t start, int64_t end, int64_t other_start, int64_t other_end,
                                   uint32_t record, int64_t uncertain_ns) {
  add_round_trip(*this,
                 saturated(static_cast<long double>(end) - static_cast<long double>(start) +
                           static_cast<long double>(other_end) - static_cast<long double>(other_start)));
  not_after(start, saturated(static_cast<long double>(other_end) + static_cast<long double>(uncertain_ns)),
            record);
  not_before(end, saturated(static_cast<long double>(other_start) - static_cast<long double>(uncertain_ns)),
             record);
}

// ---- Fit

namespace {

bool by_record(const OffsetLimit& a, const OffsetLimit& b) {
  return a.record < b.record;
}

bool is_tighter(const OffsetLimit& a, const OffsetLimit& b) {
  return a.side == LimitSide::kLower ? a.offset_ns > b.offset_ns : a.offset_ns < b.offset_ns;
}

void keep_tightest(std::vector<OffsetLimit> window, std::vector<OffsetLimit>& kept) {
  std::stable_sort(window.begin(), window.end(), [](const OffsetLimit& a, const OffsetLimit& b) {
    return a.side != b.side ? a.side < b.side : is_tighter(a, b);
  });
  size_t taken[2] = {0, 0};
  for (const OffsetLimit& limit : window) {
    if (taken[static_cast<size_t>(limit.side)]++ < kKeptOfWindow) kept.push_back(limit);
  }
}

/// Keeps the tightest limits of each window. Leaving out limits is safe: it can only widen the bound. All
/// windows have the same number of limits.
std::vector<OffsetLimit> thinned(const std::vector<OffsetLimit>& limits) {
  if (limits.size() <= kMostLimits) return limits;
  const size_t size = (limits.size() * 4 * kKeptOfWindow + kMostLimits - 1) / kMostLimits;
  std::vector<OffsetLimit> kept;
  for (size_t begin = 0; begin < limits.size(); begin += size) {
    const auto at = limits.begin() + static_cast<ptrdiff_t>(begin);
    keep_tightest({at, at + static_cast<ptrdiff_t>(std::min(size, limits.size() - begin))}, kept);
  }
  std::stable_sort(kept.begin(), kept.end(), by_record);
  return kept;
}

class Fitter {
 public:
  Fitter(const ClockEvidence& evidence, const FitOptions& options)
      : options_(options), limits_(evidence.limits) {
    for (OffsetLimit& limit : limits_) {
      const int64_t slack = limit.side == LimitSide::kLower ? -options.slack_ns : options.slack_ns;
      limit.offset_ns =
          saturated(static_cast<long double>(limit.offset_ns) + static_cast<long double>(slack));
    }
    std::stable_sort(limits_.begin(), limits_.end(), by_record);
    fit_.corrupt = evidence.corrupt;
    fit_.anchors = evidence.anchors;
    fit_.min_rtt_ns = evidence.min_rtt_ns;
  }

  ClockFit fit() {
    for (const OffsetLimit& limit : limits_)
      fit_.violations_before += violates(limit, static_cast<long double>(options_.assumed_offset_ns), 0);
    if (limits_.empty()) return fit_;
    ClockSegmenter segmenter(thinned(limits_), options_.max_drift);
    fit_.consistent = segmenter.split() && !segmenter.limits().empty();
    if (!fit_.consistent) return fit_;
    fit_.corrupt.insert(fit_.corrupt.end(), segmenter.corrupt().begin(), segmenter.corrupt().end());
    std::sort(fit_.corrupt.begin(), fit_.corrupt.end());
    fit_.corrupt.erase(std::unique(fit_.corrupt.begin(), fit_.corrupt.end()), fit_.corrupt.end());
    fit_.keeps_assumed = agrees_with_assumed(segmenter);
    add_segments(segmenter);
    judge();
    return fit_;
  }

 private:
  static bool violates(const OffsetLimit& limit, long double offset, long double tolerance) {
    const auto least = static_cast<long double>(limit.offset_ns);
    return limit.side == LimitSide::kLower ? offset < least - tolerance : offset > least + tolerance;
  }

  bool agrees_with_assumed(const ClockSegmenter& segmenter) const {
    const auto assumed = static_cast<long double>(options_.assumed_offset_ns);
    return segmenter.runs().size() == 1 &&
           std::none_of(segmenter.limits().begin(), segmenter.limits().end(),
                        [&](const OffsetLimit& limit) { return violates(limit, assumed, 0); });
  }

  /// The clock times that may have been shown between two settings of the clock. Below, "setting" means such
  /// a stretch, in which the clock ran undisturbed.
  struct Reach {
    int64_t first, last;
  };
  /// Limits of one setting, by their index.
  using Members = std::vector<size_t>;

  void add_segments(const ClockSegmenter& segmenter) {
    std::vector<Members> members = members_of_runs(segmenter);
    std::vector<ClockSegment> settings = settings_of(segmenter, members);
    const auto reach = reaches(segmenter, settings);
    const auto sure = sure_reaches(segmenter, members);
    if (settings.size() > 1 && settle_between(segmenter, reach, members))
      settings = settings_of(segmenter, members);
    fit_.segments = lay_out(settings, reach, sure);
  }

  static std::vector<Members> members_of_runs(const ClockSegmenter& segmenter) {
    const auto& runs = segmenter.runs();
    std::vector<Members> all(runs.size());
    for (size_t r = 0; r < runs.size(); r++) {
      for (size_t i = runs[r].begin; i < runs[r].end; i++) all[r].push_back(i);
    }
    return all;
  }

  std::vector<ClockSegment> settings_of(const ClockSegmenter& segmenter,
                                        const std::vector<Members>& members) const {
    std::vector<ClockSegment> settings;
    for (size_t r = 0; r < members.size(); r++) {
      const Members only = {segmenter.runs()[r].begin};
      settings.push_back(segment_of(segmenter, members[r].empty() ? only : members[r]));
      if (members[r].empty()) settings.back().bound_ns.reset();
    }
    return settings;
  }

  /// Limits between two runs could belong to either. If only one setting can have shown the time of a limit,
  /// it belongs to that one.
  bool settle_between(const ClockSegmenter& segmenter, const std::vector<Reach>& reach,
                      std::vector<Members>& members) const {
    bool any = false;
    for (size_t r = 0; r + 1 < members.size(); r++) {
      const size_t end = std::max(segmenter.runs()[r].end, segmenter.runs()[r].begin);
      for (size_t i = end; i < segmenter.runs()[r + 1].begin; i++) {
        const auto showing = settings_at(reach, segmenter.limits()[i].at_ns);
        if (showing.size() != 1) continue;
        members[showing.front()].push_back(i);
        any = true;
      }
    }
    return any && std::none_of(members.begin(), members.end(),
                               [&](const Members& limits) { return segmenter.lines(limits).empty(); });
  }

  ClockSegment segment_of(const ClockSegmenter& segmenter, const Members& members) const {
    const OffsetLines lines = segmenter.lines(members);
    ClockSegment segment;
    segment.evidence_from_ns = segment.evidence_to_ns = segmenter.limits()[members.front()].at_ns;
    for (const size_t i : members) {
      segment.evidence_from_ns = std::min(segment.evidence_from_ns, segmenter.limits()[i].at_ns);
      segment.evidence_to_ns = std::max(segment.evidence_to_ns, segmenter.limits()[i].at_ns);
    }
    segment.from_ns = segment.evidence_from_ns;
    segment.anchors = static_cast<int64_t>(members.size());
    const long double x0 = segmenter.x(segment.evidence_from_ns), x1 = segmenter.x(segment.evidence_to_ns);
    const bool assumed = options_.keep_assumed && fit_.keeps_assumed;
    const OffsetLine line = assumed ? assumed_line(segmenter) : lines.centre(x0, x1);
    publish(segmenter, line, (x0 + x1) / 2, segment);
    set_bounds(lines, line, x0, x1, segment);
    return segment;
  }

  OffsetLine assumed_line(const ClockSegmenter& segmenter) const {
    return {
        static_cast<long double>(options_.assumed_offset_ns) - static_cast<long double>(segmenter.base_ns()),
        0};
  }

  static void publish(const ClockSegmenter& segmenter, const OffsetLine& line, long double middle,
                      ClockSegment& segment) {
    segment.origin_ns = saturated(static_cast<long double>(segmenter.origin_ns()) + middle);
    const long double x = segmenter.x(segment.origin_ns);
    segment.offset_ns = saturated(static_cast<long double>(segmenter.base_ns()) + line.at(x));
    segment.drift_ppm = static_cast<double>(line.slope * 1e6L);
  }

  /// The distance to the farthest allowed line is convex in time. So between the two ends of the evidence it
  /// never exceeds the straight line through its values at these ends, and two values are enough for a bound.
  static void set_bounds(const OffsetLines& lines, const OffsetLine& line, long double x0, long double x1,
                         ClockSegment& segment) {
    if (!lines.has_lower() || !lines.has_upper()) return;
    const auto distance = [&](long double x) {
      return static_cast<double>(std::max(lines.highest(x) - line.at(x), line.at(x) - lines.lowest(x)));
    };
    segment.bound_at_from_ns = distance(x0);
    segment.bound_at_to_ns = distance(x1);
    segment.drift_bound_ppm = static_cast<double>(
        std::max(lines.most_slope() - line.slope, line.slope - lines.least_slope()) * 1e6L);
    segment.bound_ns = rounded_up(std::max(segment.bound_at_from_ns, segment.bound_at_to_ns));
  }

  static std::vector<size_t> settings_at(const std::vector<Reach>& reach, int64_t time_ns) {
    std::vector<size_t> settings;
    for (size_t r = 0; r < reach.size(); r++) {
      if (reach[r].first <= time_ns && time_ns <= reach[r].last) settings.push_back(r);
    }
    return settings;
  }

  /// The times of the evidence of each setting, extended by how long it may have lasted before the next one
  /// was seen.
  static std::vector<Reach> reaches(const ClockSegmenter& segmenter,
                                    const std::vector<ClockSegment>& settings) {
    std::vector<Reach> all;
    for (const ClockSegment& s : settings) all.push_back({s.evidence_from_ns, s.evidence_to_ns});
    for (size_t r = 0; r + 1 < settings.size(); r++) {
      const auto& run = segmenter.runs()[r];
      const int64_t left = segmenter.limits()[std::max(run.end, run.begin + 1) - 1].at_ns;
      const int64_t entered = segmenter.limits()[segmenter.runs()[r + 1].begin].at_ns;
      const long double between = static_cast<long double>(settings[r + 1].map(entered)) -
                                  static_cast<long double>(settings[r].map(left)) +
                                  static_cast<long double>(settings[r].bound_ns.value_or(0)) +
                                  static_cast<long double>(settings[r + 1].bound_ns.value_or(0));
      const long double gap = std::max(0.0L, between * 1.001L);
      all[r].last = std::max(all[r].last, saturated(static_cast<long double>(left) + gap));
      all[r + 1].first = std::min(all[r + 1].first, saturated(static_cast<long double>(entered) - gap));
    }
    return all;
  }

  /// Divides the clock's own times into segments. A time that several settings may have shown is in doubt,
  /// and so is a time that none has shown.
  static std::vector<ClockSegment> lay_out(const std::vector<ClockSegment>& settings,
                                           const std::vector<Reach>& reaches,
                                           const std::vector<Reach>& sure) {
    std::vector<int64_t> borders;
    for (const auto* list : {&reaches, &sure}) {
      for (const Reach& reach : *list) {
        borders.push_back(reach.first);
        borders.push_back(saturated(static_cast<long double>(reach.last) + 1));
      }
    }
    std::erase_if(borders, [](int64_t border) { return border == INT64_MIN || border == INT64_MAX; });
    std::sort(borders.begin(), borders.end());
    borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
    std::vector<ClockSegment> laid;
    for (size_t i = 0; i + 1 < borders.size(); i++)
      laid.push_back(piece(settings, reaches, sure, borders[i], borders[i + 1] - 1));
    return laid;
  }

  static ClockSegment piece(const std::vector<ClockSegment>& settings, const std::vector<Reach>& reaches,
                            const std::vector<Reach>& sure, int64_t from, int64_t to) {
    std::vector<const ClockSegment*> shown;
    bool is_sure = true;
    const auto collect = [&](int64_t first, int64_t last) {
      for (size_t r = 0; r < settings.size(); r++) {
        if (reaches[r].first > last || reaches[r].last < first) continue;
        shown.push_back(&settings[r]);
        is_sure = is_sure && sure[r].first <= from && to <= sure[r].last;
      }
    };
    collect(from, to);
    if (shown.empty()) collect(from - 1, to + 1);
    ClockSegment segment = shown.size() == 1 ? *shown.front() : in_doubt(shown, from, to);
    segment.from_ns = from;
    if (!is_sure) segment.bound_ns.reset();
    return segment;
  }

  static ClockSegment in_doubt(const std::vector<const ClockSegment*>& shown, int64_t from, int64_t to) {
    ClockSegment segment = *shown.front();
    segment.is_transition = true;
    segment.anchors = 0;
    segment.evidence_from_ns = from;
    segment.evidence_to_ns = to;
    segment.bound_at_from_ns = doubt(shown, from);
    segment.bound_at_to_ns = doubt(shown, to);
    segment.bound_ns.reset();
    if (std::all_of(shown.begin(), shown.end(), [](const auto* s) { return s->bound_ns.has_value(); }))
      segment.bound_ns = rounded_up(std::max(segment.bound_at_from_ns, segment.bound_at_to_ns));
    return segment;
  }

  /// The largest possible error of the first setting, if in truth another one was shown.
  static double doubt(const std::vector<const ClockSegment*>& shown, int64_t time_ns) {
    double most = 0;
    for (const ClockSegment* s : shown) {
      const auto apart =
          static_cast<double>(std::fabs(offset_at(*shown.front(), time_ns) - offset_at(*s, time_ns)));
      most = std::max(most, apart + static_cast<double>(s->bound_at(time_ns).value_or(0)));
    }
    return most;
  }

  /// The times for which a bound can be guaranteed. A contradiction very near to an end of a run may mean
  /// that the clock was set there, so beyond the nearest reliable limits of that side nothing is guaranteed.
  static std::vector<Reach> sure_reaches(const ClockSegmenter& segmenter,
                                         const std::vector<Members>& members) {
    std::vector<Reach> sure(members.size(), Reach{INT64_MIN, INT64_MAX});
    for (const LimitSide side : {LimitSide::kLower, LimitSide::kUpper}) {
      for (size_t r = 0; r < members.size(); r++) cut_doubtful_ends(segmenter, members[r], side, sure[r]);
    }
    return sure;
  }

  static void cut_doubtful_ends(const ClockSegmenter& segmenter, const Members& members, LimitSide side,
                                Reach& sure) {
    std::vector<const OffsetLimit*> sound;  // in the order of their records
    for (const size_t i : members) {
      if (segmenter.limits()[i].side == side) sound.push_back(&segmenter.limits()[i]);
    }
    if (sound.empty()) return;
    for (const OffsetLimit& dropped : segmenter.dropped()) {
      if (dropped.side != side) continue;
      const auto after = std::partition_point(sound.begin(), sound.end(), [&](const OffsetLimit* limit) {
        return limit->record < dropped.record;
      });
      const bool near_begin = after - sound.begin() < kTelling, near_end = sound.end() - after < kTelling;
      const auto later = after + std::min(kTelling, sound.end() - after) - 1;
      const auto earlier = after - std::min(kTelling, after - sound.begin());
      if (near_begin && after != sound.end()) sure.first = std::max(sure.first, (*later)->at_ns);
      if (near_end && after != sound.begin()) sure.last = std::min(sure.last, (*earlier)->at_ns);
    }
  }

  /// Computes residuals of the valid limits and violations of all limits. Transitions are left out, because
  /// there the offset is unknown.
  void judge() {
    std::vector<int64_t> residuals;
    for (const OffsetLimit& limit : limits_) {
      const ClockSegment& segment = fit_.segment_at(limit.at_ns);
      if (segment.is_transition) continue;
      const long double offset = offset_at(segment, limit.at_ns);
      fit_.violations_after += violates(limit, offset, 1);
      if (!fit_.is_corrupt(limit.record))
        residuals.push_back(saturated(std::fabs(offset - static_cast<long double>(limit.offset_ns))));
    }
    if (residuals.empty()) return;
    std::sort(residuals.begin(), residuals.end());
    const auto at = [&](double q) {
      const auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(residuals.size())));
      return residuals[rank == 0 ? 0 : rank - 1];
    };
    fit_.residual_p50_ns = at(0.5);
    fit_.residual_p99_ns = at(0.99);
  }

  const FitOptions& options_;
  std::vector<OffsetLimit> limits_;
  ClockFit fit_;
};

}  // namespace

ClockFit fit_clock(const ClockEvidence& evidence, const FitOptions& options) {
  return Fitter(evidence, options).fit();
}

bool brackets_prove_same_clock(const ClockFit& fit) {
  return fit.consistent && fit.min_rtt_ns && fit.violations_before == 0 && fit.corrupt.empty();
}

// ---- Answers

int64_t ClockSegment::map(int64_t time_ns) const {
  return saturated(static_cast<long double>(time_ns) + offset_at(*this, time_ns));
}

std::optional<int64_t> ClockSegment::bound_at(int64_t time_ns) const {
  if (!bound_ns) return std::nullopt;
  const auto time =
      static_cast<double>(static_cast<long double>(time_ns) - static_cast<long double>(evidence_from_ns));
  const auto length = static_cast<double>(static_cast<long double>(evidence_to_ns) -
                                          static_cast<long double>(evidence_from_ns));
  const double growth = drift_bound_ppm * 1e-6;
  if (time <= 0) return rounded_up(bound_at_from_ns - time * growth);
  if (time >= length) return rounded_up(bound_at_to_ns + (time - length) * growth);
  return rounded_up(bound_at_from_ns + (bound_at_to_ns - bound_at_from_ns) * time / length);
}

const ClockSegment& ClockFit::segment_at(int64_t time_ns) const {
  const auto after = std::upper_bound(segments.begin(), segments.end(), time_ns,
                                      [](int64_t time, const ClockSegment& s) { return time < s.from_ns; });
  return after == segments.begin() ? segments.front() : *(after - 1);
}

bool ClockFit::is_corrupt(uint32_t record) const {
  return std::binary_search(corrupt.begin(), corrupt.end(), record);
}

std::optional<int64_t> ClockFit::bound_ns() const {
  int64_t most = 0;
  for (const ClockSegment& segment : segments) {
    if (!segment.bound_ns) return std::nullopt;
    most = std::max(most, *segment.bound_ns);
  }
  return segments.empty() ? std::nullopt : std::optional(most);
}

std::string_view early_start_name(EarlyStart early) {
  switch (early) {
    case EarlyStart::kClockError:
      return "clock_error";
    case EarlyStart::kRecordCorruption:
      return "record_corruption";
    case EarlyStart::kProgrammaticOverlap:
      return "programmatic_overlap";
    case EarlyStart::kNone:
      break;
  }
  return "none";
}

EarlyStart classify_early_start(const KernelTimes& kernel, const ClockFit& fit, uint32_t record) {
  if (fit.is_corrupt(record)) return EarlyStart::kRecordCorruption;
  const bool mapped = fit.consistent && !fit.segments.empty();
  if (kernel.start < kernel.launch_start) {
    // Rounding may lose one nanosecond.
    const bool explained = mapped && fit.map(kernel.start) >= kernel.launch_start - 1;
    return explained ? EarlyStart::kClockError : EarlyStart::kRecordCorruption;
  }
  const bool overlaps = kernel.previous_end && kernel.start < *kernel.previous_end;
  return overlaps ? EarlyStart::kProgrammaticOverlap : EarlyStart::kNone;
}

bool resolvable(int64_t a_ns, int64_t b_ns, std::optional<int64_t> bound_ns) {
  const long double apart = std::fabs(static_cast<long double>(a_ns) - static_cast<long double>(b_ns));
  return bound_ns && apart > static_cast<long double>(*bound_ns);
}

}  // namespace nl::assemble
