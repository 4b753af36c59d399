#include "analyze/time/idle.h"

#include <algorithm>
#include <span>
#include <unordered_set>

#include "analyze/load/host_calls.h"
#include "base/call_control.h"

namespace nl::analyze {

/// Cuts a gap into pieces, front to back.
class GapCutter {
 public:
  GapCutter(IdleTimes& to, Interval gap, uint32_t next) : to_(to.stretches_), rest_(gap), next_(next) {}

  void until(int64_t end, IdleCause cause) {
    end = std::min(end, rest_.end);
    if (end <= rest_.begin) return;
    if (goes_on(cause)) {
      to_.back().piece.time.end = end;
    } else {
      to_.push_back({{{rest_.begin, end}, cause, next_}, nullptr});
    }
    rest_.begin = end;
  }
  /// With the causes of a record; `cause` stands for all of them.
  void until(int64_t end, IdleCause cause, const CauseRecord& record) {
    end = std::min(end, rest_.end);
    if (end <= rest_.begin) return;
    to_.push_back({{{rest_.begin, end}, cause, next_}, &record});
    rest_.begin = end;
  }
  int64_t at() const { return rest_.begin; }
  int64_t end() const { return rest_.end; }

 private:
  bool goes_on(IdleCause cause) const {
    if (to_.empty() || to_.back().record != nullptr) return false;
    const IdlePiece& last = to_.back().piece;
    return last.time.end == rest_.begin && last.cause == cause && last.next == next_;
  }

  PagedVector<IdleTimes::Stretch>& to_;
  Interval rest_;
  uint32_t next_;
};

namespace {

struct Described {
  std::string_view name;
  std::string_view words;
  Metric metric;
};

constexpr std::array<Described, kIdleCauses> kCauses = {{
    {"host_sync", "the device waits while the host is in a synchronising call", Metric::idle_host_sync_time},
    {"host_data", "the device waits while the host loads data", Metric::idle_host_data_time},
    {"host_alloc", "the device waits while the host allocates or frees device memory",
     Metric::idle_host_alloc_time},
    {"host_call", "the device waits while the host is in another runtime call", Metric::idle_host_call_time},
    {"host_op", "the device waits while the host runs ops and launches nothing", Metric::idle_host_op_time},
    {"host_other", "the device waits while the host is in the interpreter or in code that was not recorded",
     Metric::idle_host_other_time},
    {"launch", "launch latency: the launch was called, but the work has not started yet",
     Metric::idle_launch_time},
    {"turnaround", "short gaps between back-to-back kernels", Metric::idle_turnaround_time},
    {"wait", "the device is idle while a stream waits for an event or another stream",
     Metric::idle_wait_time},
    {"queued", "work was queued but did not start; the file does not tell why", Metric::idle_queued_time},
    {"unlinked", "the device is idle before work whose launch is not in the capture",
     Metric::idle_unlinked_time},
    {"start", "capture began mid-run: the device was finishing earlier work", Metric::idle_start_time},
    {"end", "after the last work of the device in the capture", Metric::idle_end_time},
    {"setup", "model loading and session initialisation", Metric::idle_setup_time},
    {"outside_ops", "outside of ops: scheduling, interpreter, or not recorded",
     Metric::idle_outside_ops_time},
    {"between_runs", "the caller's own time between runs of the session", Metric::idle_between_runs_time},
}};

/// The kinds of host activity, the most telling first: a moment that is in several counts for the first.
constexpr IdleCause kHostKinds[] = {IdleCause::kHostSync, IdleCause::kHostData, IdleCause::kHostAlloc,
                                    IdleCause::kHostCall, IdleCause::kHostOp};

std::optional<IdleCause> host_kind(const Timeline& run, const std::vector<HostCall>& calls, size_t span) {
  const HostCall call = calls[run.spans.name[span]];
  const model::SpanKind kind = run.spans.kind[span];
  if (call == HostCall::kDataLoading) return IdleCause::kHostData;
  if (kind == model::SpanKind::runtime) {
    if (call == HostCall::kSync) return IdleCause::kHostSync;
    if (call == HostCall::kAlloc) return IdleCause::kHostAlloc;
    return IdleCause::kHostCall;
  }
  if (kind == model::SpanKind::op) return IdleCause::kHostOp;
  return std::nullopt;
}

/// When a cause holds.
struct CauseTimes {
  IdleCause cause;
  const IntervalSet* times;
};

/// Which of some causes holds, asked for times that never go back. The first that holds counts.
class CauseWalk {
 public:
  CauseWalk(std::span<const CauseTimes> causes, IdleCause other) : causes_(causes), other_(other) {
    for (const CauseTimes& cause : causes) next_.push_back(cause.times->begin());
  }

  /// The cause at `time`, or the other one, and until when it holds at most.
  std::pair<IdleCause, int64_t> at(int64_t time) {
    int64_t until = INT64_MAX;
    for (size_t i = 0; i < causes_.size(); i++) {
      const IntervalSet& times = *causes_[i].times;
      while (next_[i] != times.end() && next_[i]->end <= time) ++next_[i];
      if (next_[i] == times.end()) continue;
      if (next_[i]->begin <= time) return {causes_[i].cause, std::min(until, next_[i]->end)};
      until = std::min(until, next_[i]->begin);
    }
    return {other_, until};
  }

 private:
  std::span<const CauseTimes> causes_;
  IdleCause other_;
  std::vector<IntervalSet::const_iterator> next_;  ///< of each cause, the first that has not ended
};

/// The causes at all times, from the times at which each holds.
CauseRecord record_of(std::span<const CauseTimes> causes, IdleCause other) {
  CauseRecord record;
  CauseWalk walk(causes, other);
  for (int64_t time = INT64_MIN; time != INT64_MAX;) {
    const auto [cause, until] = walk.at(time);
    record.add(time, cause);
    time = until;
  }
  return record;
}

void cut_launched_in_time(GapCutter& gap, const CauseRecord& waits) {
  if (gap.end() - gap.at() < kTurnaroundNs) return gap.until(gap.end(), IdleCause::kTurnaround);
  gap.until(gap.end(), IdleCause::kQueued, waits);
}

/// From the launch call on. What takes longer than a launch waits for something that no record shows: at the
/// beginning of the capture for work from before it, and the call itself may be what waits.
void cut_launched(GapCutter& gap, Interval call, bool first, const CauseRecord& waits) {
  const int64_t called = first ? call.begin : call.end;
  if (gap.end() - std::max(called, gap.at()) <= kPlausibleLaunchNs)
    return gap.until(gap.end(), IdleCause::kLaunch);
  if (first) return gap.until(gap.end(), IdleCause::kStart);
  gap.until(call.end, IdleCause::kLaunch);
  cut_launched_in_time(gap, waits);
}

struct HostRecords {
  const Timeline& run;
  const HostActivity& host;
  const CauseRecord& waits;
};

/// `first`: nothing tells when earlier work, which is not in the capture, ended.
void cut_before_launched(GapCutter& gap, const HostRecords& records, uint32_t launch, bool first) {
  const Interval call = records.run.spans.interval(launch);
  if (!first && call.begin <= gap.at()) return cut_launched_in_time(gap, records.waits);
  gap.until(call.begin, IdleCause::kHostOther, records.host.causes_of(records.run.spans.track[launch]));
  cut_launched(gap, call, first, records.waits);
}

/// What is recorded of a device up to a gap.
class RecordedSoFar {
 public:
  void add(const Work& work) { streams_.insert(work.track); }
  void add_idle(const Interval& gap) { idle_ns_ += gap.length(); }

  /// The gap comes before the first recorded work of a stream, and less work is recorded before the gap than
  /// it is long. A stream runs in order: what this one did until then is not in the capture.
  bool opens_stream(const Work& next, const Interval& gap, const Interval& capture) const {
    const int64_t busy_ns = gap.begin - capture.begin - idle_ns_;
    return !streams_.contains(next.track) && gap.length() > std::max(busy_ns, kPlausibleLaunchNs);
  }

 private:
  std::unordered_set<int32_t> streams_;
  int64_t idle_ns_ = 0;
};

int64_t common_length(const Interval& a, const Interval& b) {
  return std::max<int64_t>(0, std::min(a.end, b.end) - std::max(a.begin, b.begin));
}

/// At least half of the gap is in the span, and the span is at most twice as long: no frame of a whole
/// program.
bool tells_of(const Interval& span, const Interval& gap) {
  const int64_t inside = common_length(span, gap);
  return inside >= gap.length() - inside && span.length() - gap.length() <= gap.length();
}

/// Ranges in which a session is made ready, as ONNX Runtime names them.
IntervalSet setup_ranges(const Timeline& run) {
  PagedVector<Interval> ranges;
  for (size_t i = 0; i < run.spans.size(); i++) {
    if (run.spans.kind[i] != model::SpanKind::annotation) continue;
    const std::string_view name = run.names[run.spans.name[i]];
    if (name == "session_initialization" || name.starts_with("model_loading"))
      ranges.push_back(run.spans.interval(i));
  }
  return union_of(std::move(ranges));
}

/// What is known of a host that is outside of ops.
struct HostRanges {
  IntervalSet setup;
  IntervalSet between_runs;
};

/// From the end of one run to the begin of the next.
IntervalSet time_between(const IntervalSet& runs) {
  if (runs.empty()) return {};
  return subtract({{runs.front().begin, runs.back().end}}, runs);
}

void cut_host_idle(GapCutter& gap, CauseWalk& causes) {
  while (gap.at() < gap.end()) {
    const auto [cause, holds] = causes.at(gap.at());
    gap.until(holds, cause);
  }
}

}  // namespace

bool is_host_cause(IdleCause cause) {
  return cause == IdleCause::kSetup || cause == IdleCause::kOutsideOps || cause == IdleCause::kBetweenRuns;
}

std::string_view idle_cause_name(IdleCause cause) {
  return kCauses[static_cast<size_t>(cause)].name;
}

std::string_view idle_cause_words(IdleCause cause) {
  return kCauses[static_cast<size_t>(cause)].words;
}

Metric idle_metric(IdleCause cause) {
  return kCauses[static_cast<size_t>(cause)].metric;
}

bool is_host_late(IdleCause cause) {
  return cause <= IdleCause::kHostOther;
}

HostActivity::HostActivity(const Timeline& run) {
  const std::vector<HostCall> calls = host_calls(run.names);
  std::vector<std::array<PagedVector<Interval>, kKinds>> found(run.tracks.size());
  for (size_t i = 0; i < run.spans.size(); i++) {
    const auto kind = host_kind(run, calls, i);
    const int32_t track = run.spans.track[i];
    if (!kind || track < 0 || static_cast<size_t>(track) >= found.size()) continue;
    const auto k = static_cast<size_t>(*kind);
    found[static_cast<size_t>(track)][k].push_back(run.spans.interval(i));
    spans_[k].push_back(static_cast<uint32_t>(i));
  }
  std::array<PagedVector<Interval>, kKinds> all;
  none_ = record_of({}, IdleCause::kHostOther);
  for (auto& kinds : found) {
    std::array<IntervalSet, kKinds> sets;
    std::array<CauseTimes, kKinds> causes;
    for (size_t i = 0; i < kKinds; i++) {
      const auto k = static_cast<size_t>(kHostKinds[i]);
      sets[i] = union_of(std::move(kinds[k]));
      causes[i] = {kHostKinds[i], &sets[i]};
      all[k].insert(all[k].end(), sets[i].begin(), sets[i].end());  // far fewer than spans
    }
    tracks_.push_back(record_of(causes, IdleCause::kHostOther));
  }
  for (size_t k = 0; k < kKinds; k++) everywhere_[k] = union_of(std::move(all[k]));
}

const CauseRecord& HostActivity::causes_of(int32_t track) const {
  if (track < 0 || static_cast<size_t>(track) >= tracks_.size()) return none_;
  return tracks_[static_cast<size_t>(track)];
}

CauseRecord record_of_waits(const IntervalSet& waits) {
  const CauseTimes causes[] = {{IdleCause::kWait, &waits}};
  return record_of(causes, IdleCause::kQueued);
}

void CauseRecord::add(int64_t begin, IdleCause cause) {
  if (!entries_.empty() && entries_.back().cause == cause) return;
  entries_.push_back({begin, cause});
  if (entries_.size() % kBlock != 1 || entries_.size() == 1) return;
  Block& block = blocks_.emplace_back();
  for (size_t i = entries_.size() - 1 - kBlock; i + 1 < entries_.size(); i++) {
    if (entries_[i].begin == INT64_MIN) continue;  // no finite time contains it
    const int64_t ns = end_of(i) - entries_[i].begin;
    block.ns[static_cast<size_t>(entries_[i].cause)] += ns;
    block.longest_ns = std::max(block.longest_ns, ns);
  }
}

size_t CauseRecord::at(int64_t time) const {
  const auto behind = std::upper_bound(entries_.begin(), entries_.end(), time,
                                       [](int64_t t, const Entry& entry) { return t < entry.begin; });
  return static_cast<size_t>(behind - entries_.begin()) - 1;
}

bool CauseRecord::has(IdleCause cause, const Interval& time) const {
  bool found = false;
  visit(
      time, [&](const Block& block) { return found || block.ns[static_cast<size_t>(cause)] == 0; },
      [&](const Interval&, IdleCause here) { found = found || here == cause; });
  return found;
}

CauseSums IdleTimes::sums_in(const IntervalSet& window) const {
  CauseSums sums{};
  for (const Stretch& stretch : stretches_) {
    const Interval& whole = stretch.piece.time;
    for (auto part = first_ending_after(window, whole.begin); part != window.end() && part->begin < whole.end;
         ++part) {
      const Interval time{std::max(part->begin, whole.begin), std::min(part->end, whole.end)};
      if (stretch.record == nullptr) {
        sums[static_cast<size_t>(stretch.piece.cause)] += time.length();
        continue;
      }
      stretch.record->visit(
          time,
          [&](const CauseRecord::Block& block) {
            for (size_t i = 0; i < kIdleCauses; i++) sums[i] += block.ns[i];
            return true;
          },
          [&](const Interval& piece, IdleCause cause) {
            sums[static_cast<size_t>(cause)] += piece.length();
          });
    }
  }
  return sums;
}

IdleTimes idle_times(const Timeline& run, const Device& device, const HostActivity& host,
                     const CauseRecord& waits, const IntervalSet& runs) {
  IdleTimes out;
  const HostRanges ranges = device.is_host ? HostRanges{setup_ranges(run), time_between(runs)} : HostRanges{};
  const CauseTimes of_host[] = {{IdleCause::kSetup, &ranges.setup},
                                {IdleCause::kBetweenRuns, &ranges.between_runs}};
  CauseWalk host_causes(of_host, IdleCause::kOutsideOps);
  RecordedSoFar recorded;
  size_t next = 0;
  CancelPoll poll;
  for (const Interval& idle : subtract({run.capture}, device.busy)) {
    poll();
    for (; next < device.work.size() && device.work[next].start < idle.end; next++)
      recorded.add(device.work[next]);
    const bool none_left = next == device.work.size();
    GapCutter gap(out, idle, none_left ? kNoRow : static_cast<uint32_t>(next));
    if (device.is_host) {
      cut_host_idle(gap, host_causes);
    } else if (none_left) {
      gap.until(idle.end, IdleCause::kEnd);
    } else if (const uint32_t launch = device.work[next].launch; launch == kNoRow) {
      gap.until(idle.end, IdleCause::kUnlinked);
    } else {
      const bool first =
          idle.begin == run.capture.begin ||
          (recorded.opens_stream(device.work[next], idle, run.capture) && !waits.has(IdleCause::kWait, idle));
      cut_before_launched(gap, {run, host, waits}, launch, first);
    }
    recorded.add_idle(idle);
  }
  return out;
}

PagedVector<IdlePiece> explain_idle(const Timeline& run, const Device& device, const HostActivity& host,
                                    const IntervalSet& waits, const IntervalSet& runs) {
  const CauseRecord record = record_of_waits(waits);
  PagedVector<IdlePiece> pieces;
  idle_times(run, device, host, record, runs).for_each([&](const IdlePiece& piece) {
    pieces.push_back(piece);
  });
  return pieces;
}

PagedVector<uint32_t> host_spans(const Timeline& run, const Device& device,
                                 const PagedVector<IdlePiece>& pieces) {
  PagedVector<uint32_t> found(pieces.size(), kNoRow);
  PagedVector<size_t> asked;
  for (size_t p = 0; p < pieces.size(); p++) {
    if (is_host_late(pieces[p].cause) && pieces[p].next != kNoRow) asked.push_back(p);
  }
  if (asked.empty()) return found;
  int64_t shortest_ns = INT64_MAX;
  for (const size_t p : asked) shortest_ns = std::min(shortest_ns, pieces[p].time.length());
  std::sort(asked.begin(), asked.end(),
            [&](size_t a, size_t b) { return pieces[a].time.begin < pieces[b].time.begin; });
  CancelPoll poll;
  for (uint32_t i = 0; i < run.spans.size(); i++) {
    poll();
    const Interval span = run.spans.interval(i);
    if (span.length() < shortest_ns - span.length()) continue;  // less than half of any piece
    auto it = std::upper_bound(asked.begin(), asked.end(), span.begin,
                               [&](int64_t t, size_t p) { return t < pieces[p].time.end; });
    for (; it != asked.end() && pieces[*it].time.begin < span.end; it++) {
      const IdlePiece& piece = pieces[*it];
      if (run.spans.track[i] != run.spans.track[device.work[piece.next].launch]) continue;
      uint32_t& best = found[*it];
      const bool shorter = best == kNoRow || span.length() <= run.spans.interval(best).length();
      if (shorter && tells_of(span, piece.time)) best = i;
    }
  }
  return found;
}

CauseSums idle_causes(const PagedVector<IdlePiece>& pieces, const IntervalSet& window) {
  CauseSums sums{};
  for (const IdlePiece& piece : pieces)
    sums[static_cast<size_t>(piece.cause)] += length_inside(window, piece.time);
  return sums;
}

}  // namespace nl::analyze
