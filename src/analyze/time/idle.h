#pragma once
// Finds out why a device was idle. Every moment of the capture in which nothing ran on the device gets
// exactly one cause, so the causes in any window add up to its idle time. The cause depends on the work that
// ends the gap: had its launch call already begun when the device ran out of work? If not, what was the
// launching thread doing until then? See docs/metrics.md.

#include <algorithm>
#include <array>
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

using CauseSums = std::array<int64_t, kIdleCauses>;

/// Causes over all time, one after the other. Sums over long times are quick: entries are summed up by
/// blocks.
class CauseRecord {
 public:
  /// Entries between two places that lie in one piece of time.
  struct Block {
    CauseSums ns{};
    int64_t longest_ns = 0;
  };

  /// From this time on. The first one begins at INT64_MIN, the others later than the one before.
  void add(int64_t begin, IdleCause cause);
  size_t size() const { return entries_.size(); }
  bool has(IdleCause cause, const Interval& time) const;

  /// Calls each(Interval, IdleCause) for the pieces of a time. Blocks for which skip(Block) is true are left
  /// out.
  template <class Skip, class Each>
  void visit(const Interval& time, Skip&& skip, Each&& each) const {
    for (size_t i = at(time.begin); i < entries_.size() && entries_[i].begin < time.end;) {
      if (i % kBlock == 0 && is_inside(i / kBlock, time) && skip(blocks_[i / kBlock])) {
        i += kBlock;
        continue;
      }
      each(Interval{std::max(entries_[i].begin, time.begin), std::min(end_of(i), time.end)},
           entries_[i].cause);
      i++;
    }
  }

 private:
  static constexpr size_t kBlock = 64;
  struct Entry {
    int64_t begin;
    IdleCause cause;
  };

  size_t at(int64_t time) const;
  int64_t end_of(size_t entry) const {
    return entry + 1 < entries_.size() ? entries_[entry + 1].begin : INT64_MAX;
  }
  bool is_inside(size_t block, const Interval& time) const {
    return block < blocks_.size() && entries_[block * kBlock].begin >= time.begin &&
           end_of(block * kBlock + kBlock - 1) <= time.end;
  }

  PagedVector<Entry> entries_;
  PagedVector<Block> blocks_;  ///< of kBlock entries each, whose ends are known
};

/// What the threads of the host did, by the kinds that idle causes tell apart.
class HostActivity {
 public:
  explicit HostActivity(const Timeline& run);
  /// What held up a launch of this track at any time: the most telling kind of what the thread did.
  const CauseRecord& causes_of(int32_t track) const;
  /// Union over all threads.
  const IntervalSet& everywhere(IdleCause kind) const { return everywhere_[static_cast<size_t>(kind)]; }
  /// Spans of that kind over all threads.
  const PagedVector<uint32_t>& spans(IdleCause kind) const { return spans_[static_cast<size_t>(kind)]; }

 private:
  static constexpr size_t kKinds = static_cast<size_t>(IdleCause::kHostOther);
  std::vector<CauseRecord> tracks_;
  std::array<IntervalSet, kKinds> everywhere_;
  std::array<PagedVector<uint32_t>, kKinds> spans_;
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
    for_each_but([](const CauseRecord::Block&) { return false; }, each);
  }
  /// The same without blocks of pieces for which skip(Block) is true.
  template <class Skip, class Each>
  void for_each_but(Skip&& skip, Each&& each) const {
    for (const Stretch& stretch : stretches_) {
      if (stretch.record == nullptr) {
        each(stretch.piece);
      } else {
        stretch.record->visit(stretch.piece.time, skip, [&](const Interval& time, IdleCause cause) {
          each(IdlePiece{time, cause, stretch.piece.next});
        });
      }
    }
  }
  /// The same with time in which the host was late as one piece of kHostOther, and time in which work was
  /// queued as one of kQueued.
  template <class Each>
  void for_each_stretch(Each&& each) const {
    for (const Stretch& stretch : stretches_) each(stretch.piece);
  }
  /// Inside the window.
  CauseSums sums_in(const IntervalSet& window) const;

 private:
  friend class GapCutter;
  struct Stretch {
    IdlePiece piece;
    const CauseRecord* record;  ///< what the causes in it are; null: its own
  };
  PagedVector<Stretch> stretches_;
};

/// `waits`: of the device's streams, as far as the source records it. `runs`: of a host, the ranges of the
/// runs of its session.
IdleTimes idle_times(const Timeline& run, const Device& device, const HostActivity& host,
                     const CauseRecord& waits, const IntervalSet& runs = {});

/// All pieces, in order of time.
PagedVector<IdlePiece> explain_idle(const Timeline& run, const Device& device, const HostActivity& host,
                                    const IntervalSet& waits, const IntervalSet& runs = {});

/// What the launching thread did in each piece before a launch call: the shortest span that covers at least
/// half of it and is at most twice as long; kNoRow if there is none. Looks at every span of the run, once;
/// the pieces do not overlap.
PagedVector<uint32_t> host_spans(const Timeline& run, const Device& device,
                                 const PagedVector<IdlePiece>& pieces);

/// Sums of the pieces inside the window.
CauseSums idle_causes(const PagedVector<IdlePiece>& pieces, const IntervalSet& window);

}  // namespace nl::analyze
