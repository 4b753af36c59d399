#pragma once
// Finds out why a device was idle. Every moment of the capture in which nothing ran on the device gets
// exactly one cause, so the causes in any window add up to its idle time. The cause depends on the work that
// ends the gap: had its launch call already begun when the device ran out of work? If not, what was the
// launching thread doing until then? See docs/metrics.md.

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

/// What the threads of the host did, by the kinds that idle causes tell apart. Filled per thread when asked
/// for.
class HostActivity {
 public:
  explicit HostActivity(const Timeline& run);
  /// Union of the spans of one kind on one track.
  const IntervalSet& of(int32_t track, IdleCause kind) const;
  /// Union over all threads.
  IntervalSet everywhere(IdleCause kind) const;
  /// Spans of that kind over all threads.
  const std::vector<uint32_t>& spans(IdleCause kind) const { return spans_[static_cast<size_t>(kind)]; }

 private:
  static constexpr size_t kKinds = static_cast<size_t>(IdleCause::kHostOther);
  std::vector<std::array<IntervalSet, kKinds>> tracks_;
  std::array<std::vector<uint32_t>, kKinds> spans_;
  IntervalSet none_;
};

/// Pieces in order of time; together exactly the capture without the device's busy time. `waits`: when
/// streams of the device waited for events, as far as the source records it. `runs`: of a host, the ranges of
/// the runs of its session.
std::vector<IdlePiece> explain_idle(const Timeline& run, const Device& device, const HostActivity& host,
                                    const IntervalSet& waits, const IntervalSet& runs = {});

/// What the launching thread did in each piece before a launch call: the shortest span that covers at least
/// half of it and is at most twice as long; kNoRow if there is none. Looks at every span of the run, once;
/// the pieces do not overlap.
std::vector<uint32_t> host_spans(const Timeline& run, const Device& device,
                                 const std::vector<IdlePiece>& pieces);

/// Sums of the pieces inside the window.
std::array<int64_t, kIdleCauses> idle_causes(const std::vector<IdlePiece>& pieces, const IntervalSet& window);

}  // namespace nl::analyze
