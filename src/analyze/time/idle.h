#pragma once
// Finds out why a device was idle. Every moment of the capture in which nothing ran on the device gets
// exactly one cause, so the causes in any window add up to its idle time. The cause depends on the work that
// ends the gap: had its launch call already begun when the device ran out of work? If not, what was the
// launching thread doing until then? See docs/metrics.md.

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <vector>

#include "analyze/load/devices.h"
#include "analyze/metrics/metric.h"

namespace nl::analyze {

enum class IdleCause : uint8_t {
  kHostSync,
  kHostData,
  kHostAlloc,
  kHostCall,
  kHostOp,
  kHostOther,
  kLaunch,
  kTurnaround,
  kWait,
  kQueued,
  kUnlinked,
  kStart,
  kEnd,
  kSetup,
  kOutsideOps,
  kBetweenRuns
};
inline constexpr size_t kIdleCauses = static_cast<size_t>(IdleCause::kBetweenRuns) + 1;

/// As in JSON: host_sync, host_data, …
std::string_view idle_cause_name(IdleCause cause);
/// A few words for people.
std::string_view idle_cause_words(IdleCause cause);
Metric idle_metric(IdleCause cause);
bool is_host_late(IdleCause cause);

struct IdlePiece {
  Interval time;
  IdleCause cause;
  uint32_t next = kNoRow;  ///< index in Device::work of what ended the gap
};

/// Gaps whose work was launched in time and that are shorter than this are the device's own turnaround.
inline constexpr int64_t kTurnaroundNs = 10'000;

/// Longest time from the end of a launch call (of the first work: its begin) to the start on an idle device
/// that is still the launch itself. The device may be busy with work that is not in the capture if it takes
/// longer.
inline constexpr int64_t kPlausibleLaunchNs = 100'000;

/// Of a host without device work: setup is what ranges of model loading and session initialisation cover,
/// between runs the time of whoever calls the session.
bool is_host_cause(IdleCause cause);

/// From `begin` until the next one begins, a cause holds.
struct CauseFrom {
  int64_t begin;
  IdleCause cause;
};
/// Causes over all time, in order; neighbours differ.
using CauseRecord = std::vector<CauseFrom>;

/// What the threads of the host did, by the kinds that idle causes tell apart.
class HostActivity {
 public:
  explicit HostActivity(const Timeline& run);
  /// What held up a launch of this track at any time: the most telling kind of what the thread did.
  const CauseRecord& causes_of(int32_t track) const;
  /// Union over all threads.
  const IntervalSet& everywhere(IdleCause kind) const { return everywhere_[static_cast<size_t>(kind)]; }
  /// Spans of that kind over all threads.
  const std::vector<uint32_t>& spans(IdleCause kind) const { return spans_[static_cast<size_t>(kind)]; }

 private:
  static constexpr size_t kKinds = static_cast<size_t>(IdleCause::kHostOther);
  std::vector<CauseRecord> tracks_;
  std::array<IntervalSet, kKinds> everywhere_;
  std::array<std::vector<uint32_t>, kKinds> spans_;
  CauseRecord none_;
};

/// When streams waited for events, and else the cause of work that was queued and did not start.
CauseRecord record_of_waits(const IntervalSet& waits);

/// Why a device was idle. Keeps a few pieces a gap, and no copy of what a thread did in it: all devices wait
/// for the same threads. The records that it points to must outlive it.
class IdleTimes {
 public:
  /// Calls each(IdlePiece) in order of time; together they are exactly the capture without the device's busy
  /// time.
  template <class Each>
  void for_each(Each&& each) const {
    for (const Stretch& stretch : stretches_) {
      if (stretch.record == nullptr) {
        each(stretch.piece);
      } else {
        for_each_in(stretch, each);
      }
    }
  }
  /// The same with time in which the host was late as one piece of kHostOther, and time in which work was
  /// queued as one of kQueued.
  template <class Each>
  void for_each_stretch(Each&& each) const {
    for (const Stretch& stretch : stretches_) each(stretch.piece);
  }

 private:
  friend class GapCutter;
  struct Stretch {
    IdlePiece piece;
    const CauseRecord* record;  ///< what the causes in it are; null: its own
  };

  template <class Each>
  static void for_each_in(const Stretch& stretch, Each&& each) {
    IdlePiece piece = stretch.piece;
    for (auto it = cause_at(*stretch.record, piece.time.begin); piece.time.begin < stretch.piece.time.end;
         ++it) {
      const auto next = std::next(it);
      piece.cause = it->cause;
      piece.time.end = next == stretch.record->end() ? stretch.piece.time.end
                                                     : std::min(next->begin, stretch.piece.time.end);
      each(piece);
      piece.time.begin = piece.time.end;
    }
  }
  static CauseRecord::const_iterator cause_at(const CauseRecord& record, int64_t time);

  std::vector<Stretch> stretches_;
};

/// `waits`: of the device's streams, as far as the source records it. `runs`: of a host, the ranges of the
/// runs of its session.
IdleTimes idle_times(const Timeline& run, const Device& device, const HostActivity& host,
                     const CauseRecord& waits, const IntervalSet& runs = {});

/// All pieces, in order of time.
std::vector<IdlePiece> explain_idle(const Timeline& run, const Device& device, const HostActivity& host,
                                    const IntervalSet& waits, const IntervalSet& runs = {});

/// What the launching thread did in each piece before a launch call: the shortest span that covers at least
/// half of it and is at most twice as long; kNoRow if there is none. Looks at every span of the run, once;
/// the pieces do not overlap.
std::vector<uint32_t> host_spans(const Timeline& run, const Device& device,
                                 const std::vector<IdlePiece>& pieces);

/// Sums of the pieces inside the window.
std::array<int64_t, kIdleCauses> idle_causes(const IdleTimes& idle, const IntervalSet& window);
std::array<int64_t, kIdleCauses> idle_causes(const std::vector<IdlePiece>& pieces, const IntervalSet& window);

}  // namespace nl::analyze
