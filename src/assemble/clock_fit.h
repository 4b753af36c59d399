#pragma once
// Maps the times of one clock to the times of another, and says how accurate the result is. All evidence
// (probes, causality, collectives) is reduced to limits for the offset d(t) = f(t) - t at single times t. One
// engine (offset_lines.h) then finds the straight lines that all limits allow. A published bound rests on two
// assumptions: the limits are true, and within a segment f is a straight line whose drift is at most
// FitOptions::max_drift. Pure algorithms without I/O; any thread.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace nl::assemble {

enum class LimitSide : uint8_t { kLower, kUpper };

/// The offset at `at_ns`, on the clock to be mapped, is at least or at most `offset_ns`.
struct OffsetLimit {
  int64_t at_ns;
  int64_t offset_ns;
  uint32_t record;  ///< what it was taken from; records are numbered in the order in which they happened
  LimitSide side;
};

/// Limits in the making. Times so far apart that their difference does not fit are corrupt at once.
struct ClockEvidence {
  std::vector<OffsetLimit> limits = {};
  std::vector<uint32_t> corrupt = {};
  std::optional<int64_t> min_rtt_ns = {};
  int64_t anchors = 0;  ///< records that gave limits

  /// `mine` on the clock to be mapped lies not before `other` on the reference.
  void not_before(int64_t mine, int64_t other, uint32_t record);
  void not_after(int64_t mine, int64_t other, uint32_t record);

  /// The reference was read as `other` between two readings of the clock to be mapped.
  void add_probe(int64_t before, int64_t other, int64_t after, uint32_t record);
  /// A kernel on the clock to be mapped starts after its launch call has begun.
  void add_launch(int64_t launch_start, int64_t kernel_start, uint32_t record);
  /// A call that waits for a kernel returns after its end.
  void add_sync(int64_t kernel_end, int64_t sync_return, uint32_t record);
  /// A collective with implicit synchronisation ends nowhere before it has begun everywhere.
  /// `uncertain_ns`: how far the other's times may be off.
  void add_collective(int64_t start, int64_t end, int64_t other_start, int64_t other_end, uint32_t record,
                      int64_t uncertain_ns = 0);
};

struct FitOptions {
  double max_drift = 200e-6;      ///< two oscillators of 100 ppm
  int64_t slack_ns = 0;           ///< resolution of the times: each limit is widened by it
  int64_t assumed_offset_ns = 0;  ///< what is taken for true without a fit
  bool keep_assumed = false;      ///< publish the assumed offset where no limit contradicts it
};

struct ClockSegment {
  int64_t from_ns = 0;  ///< holds from here to the next one; the first also before
  int64_t origin_ns = 0;
  int64_t offset_ns = 0;  ///< at the origin
  double drift_ppm = 0;
  int64_t anchors = 0;                   ///< limits it rests on; 0 in a transition
  std::optional<int64_t> bound_ns = {};  ///< greatest error while it holds and there is evidence
  bool is_transition = false;            ///< the clock was set: the time may be from before or after that

  int64_t evidence_from_ns = 0, evidence_to_ns = 0;
  double bound_at_from_ns = 0, bound_at_to_ns = 0;
  double drift_bound_ppm = 0;  ///< how much the bound grows with the distance from the evidence

  int64_t map(int64_t time_ns) const;
  /// Guaranteed at this time; nothing if the evidence has one side only.
  std::optional<int64_t> bound_at(int64_t time_ns) const;
};

struct ClockFit {
  bool consistent = false;  ///< false: the evidence contradicts itself too often; there are no segments
  std::vector<ClockSegment> segments = {};
  std::vector<uint32_t> corrupt = {};  ///< records that no mapping explains, in order
  int64_t anchors = 0;
  std::optional<int64_t> min_rtt_ns = {};
  std::optional<int64_t> residual_p50_ns = {}, residual_p99_ns = {};  ///< from the limits to the lines
  int64_t violations_before = 0, violations_after = 0;                ///< limits, corrupt ones too
  bool keeps_assumed = false;                                         ///< no limit contradicts the assumption

  const ClockSegment& segment_at(int64_t time_ns) const;
  int64_t map(int64_t time_ns) const { return segment_at(time_ns).map(time_ns); }
  std::optional<int64_t> bound_at(int64_t time_ns) const { return segment_at(time_ns).bound_at(time_ns); }
  bool is_corrupt(uint32_t record) const;
  /// The greatest of all segments; nothing if one of them is not known.
  std::optional<int64_t> bound_ns() const;
};

/// Records in any order give the same fit; limits of one record come in the order of time. O(n log n) besides
/// a cost for each step and corrupt record.
ClockFit fit_clock(const ClockEvidence& evidence, const FitOptions& options = {});

/// Two readings of one clock around each reading of the other: proof that both are the same clock.
bool brackets_prove_same_clock(const ClockFit& fit);

/// Why a kernel starts where it cannot, or seems to.
enum class EarlyStart : uint8_t {
  kNone,
  kClockError,           ///< the mapping puts it behind its launch
  kRecordCorruption,     ///< no mapping does
  kProgrammaticOverlap,  ///< behind its launch, before the end of its predecessor on the stream
};
std::string_view early_start_name(EarlyStart early);

struct KernelTimes {
  int64_t launch_start = 0;
  int64_t start = 0, end = 0;
  std::optional<int64_t> previous_end = {};  ///< of the kernel before it on its stream
};
/// `fit` maps the kernel's clock to that of the launches.
EarlyStart classify_early_start(const KernelTimes& kernel, const ClockFit& fit, uint32_t record);

/// False: the two times are closer than what is known of their clocks.
bool resolvable(int64_t a_ns, int64_t b_ns, std::optional<int64_t> bound_ns);

}  // namespace nl::assemble
