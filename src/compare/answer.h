#pragma once
// The answer of a comparison as plain structs. src/compare fills them, and reports and texts show them. Their
// field descriptions give the JSON and the schema of the operation `compare`. The base is the side that the
// new side is compared with. JSON calls the new side "new"; in C++ that is a keyword, so here it is `next`.
//
// Times are whole nanoseconds of one unit of the window (a step, a capture …) unless a field says otherwise.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/answer/strip.h"
#include "base/described.h"
#include "stats/sample.h"
#include "stats/verdict.h"

namespace nl::compare {

enum class Mode : uint8_t {
  kSame,           ///< the same hardware and backend: times are compared
  kOtherHardware,  ///< shares and figures that are normalised by the peaks of the devices
  kOtherBackend,   ///< shares of classes: kernels and ops have nothing else in common
};
/// same, other_hardware, other_backend
std::string_view mode_name(Mode mode);

enum class FactorState : uint8_t { kEqual, kDifferent, kUnknown };
/// equal, different, unknown
std::string_view factor_state_name(FactorState state);

enum class PartKind : uint8_t { kCompute, kCommunication, kCopy, kIdle, kRest };
inline constexpr size_t kPartKinds = static_cast<size_t>(PartKind::kRest) + 1;
/// compute, communication, copy, idle, rest
std::string_view part_kind_name(PartKind kind);

enum class ChangeKind : uint8_t { kChanged, kMoved, kRenamed, kFused, kSplit, kAdded, kRemoved };
/// changed, moved, …
std::string_view change_kind_name(ChangeKind kind);

enum class AcrossLevel : uint8_t { kOp, kClass };
/// op, class
std::string_view across_level_name(AcrossLevel level);

/// The same figure of both sides.
template <class T>
struct Both {
  T base{};
  T next{};
  static constexpr auto fields() {
    return std::tuple{field("base", &Both::base, "of the base"),
                      field("new", &Both::next, "of the new side")};
  }
};

// ---- The sides

struct ComparedSide {
  std::string run_id;
  std::vector<std::string> runs;
  std::vector<std::string> files;
  std::optional<std::string> model;
  std::string source;
  std::optional<std::string> device;
  std::string window;
  std::string unit;
  int64_t units = 1;
  int64_t warm_up_left_out = 0;
  int64_t total_ns = 0;
  int64_t window_ns = 0;
  std::optional<std::vector<analyze::StripColumn>> strip;
  std::optional<int64_t> strip_ns;
  static constexpr auto fields() {
    using S = ComparedSide;
    return std::tuple{
        field("run_id", &S::run_id, "the run that represents this side: the one with the median window"),
        field("runs", &S::runs, "ids of all runs of this side"),
        field("files", &S::files,
              "names of the profiles that the run was imported from, without folders; empty if not known"),
        field("model", &S::model, "label of the run; null if it has none"),
        field("source", &S::source, "what the times are made of: device, host, layers, replays or ranges"),
        field("device", &S::device, "the device that is compared; null for layers and replays"),
        field("window", &S::window,
              "name of the window: steps, steady, whole, step:N, a phase or an annotation"),
        field("unit", &S::unit,
              "the unit that times are given for: capture, step, range, inference or replay"),
        field("units", &S::units, "number of units in the window"),
        field("warm_up_left_out", &S::warm_up_left_out, "steps at the beginning that do not count"),
        field("total_ns", &S::total_ns, "length of the window, all units together"),
        field("window_ns", &S::window_ns, "length of one unit of the window"),
        field_if_any("strip", &S::strip,
                     "for pictures: the window cut into equal pieces of time, each with the ns of compute, "
                     "exposed communication, exposed copies and idle time"),
        field_if_any("strip_ns", &S::strip_ns, "from the begin to the end of the strip")};
  }
};

// ---- Can they be compared

/// Name of the factor that holds the work of one unit on both sides against each other.
inline constexpr char kAmountOfWork[] = "amount of work";

/// One thing that ought to be equal.
struct Factor {
  std::string name;
  FactorState state = FactorState::kEqual;
  double score = 1;
  std::optional<std::string> base, next;
  std::optional<std::string> words;
  static constexpr auto fields() {
    return std::tuple{
        field("name", &Factor::name, "what should be equal"),
        field("state", &Factor::state, "whether it is"),
        field("score", &Factor::score, "factor from 0 to 1: 1 changes nothing, 0 forbids the comparison"),
        field("base", &Factor::base, "what the base says; null if it is not known"),
        field("new", &Factor::next, "what the new side says; null if it is not known"),
        field("words", &Factor::words, "why it matters; null if it is equal")};
  }
};

struct ComparabilityScore {
  double score = 1;
  double floor = 0;
  std::vector<Factor> factors;
  static constexpr auto fields() {
    using S = ComparabilityScore;
    return std::tuple{field("score", &S::score, "product of the scores of the factors, from 0 to 1"),
                      field("floor", &S::floor, "below this no verdict is given"),
                      field("factors", &S::factors, "what was checked")};
  }
};

// ---- Is it real

/// What the runs of both sides say of one figure, in ns.
struct Statistics {
  stats::Verdict verdict = stats::Verdict::kNotTested;
  stats::Summary base, next;
  std::optional<stats::Interval> ratio_interval;
  std::optional<double> ratio, ratio_of_medians, shift_ns, cliffs_delta, p, p_adjusted;
  std::optional<int64_t> runs_needed, more_runs;
  std::optional<std::string> reason;
  static constexpr auto fields() {
    using S = Statistics;
    return std::tuple{
        field("verdict", &S::verdict, "what the runs show about this figure"),
        field("base", &S::base, "values of the runs of the base, in ns"),
        field("new", &S::next, "values of the runs of the new side, in ns"),
        field("ratio_interval", &S::ratio_interval, "of the ratio; null with too few runs"),
        field_maybe_endless("ratio", &S::ratio,
                            "new divided by base, by Hodges and Lehmann; null if it is infinite"),
        field_if_any("ratio_of_medians", &S::ratio_of_medians, "new over base"),
        field_if_any("shift_ns", &S::shift_ns, "new minus base by Hodges and Lehmann"),
        field_if_any("cliffs_delta", &S::cliffs_delta, "from -1 to 1: how far apart the values are"),
        field_if_any("p", &S::p, "p of the rank test of Mann and Whitney"),
        field_if_any("p_adjusted", &S::p_adjusted, "p, adjusted for the number of tests of one level"),
        field_if_any("runs_needed", &S::runs_needed, "runs on each side that would probably decide"),
        field_if_any("more_runs", &S::more_runs, "how many of these runs are missing"),
        field_if_any("reason", &S::reason, "why nothing is shown")};
  }
};

/// One run as one value.
struct RunValue {
  std::string run_id;
  double window_ns = 0;
  static constexpr auto fields() {
    return std::tuple{field("run_id", &RunValue::run_id, "id of the run"),
                      field("window_ns", &RunValue::window_ns, "mean over the units of its window")};
  }
};

/// Steps inside one run: how much it varies, which is no repeat.
struct StepSpread {
  size_t n = 0;
  double min = 0, median = 0, max = 0;
  std::optional<stats::Interval> median_interval;
  static constexpr auto fields() {
    using S = StepSpread;
    return std::tuple{field("n", &S::n, "steps"), field("min", &S::min, "in ns"),
                      field("median", &S::median, "in ns"), field("max", &S::max, "in ns"),
                      field("median_interval", &S::median_interval, "null with too few steps")};
  }
};

/// The statistics of the window, with what they were made from.
struct WindowStatistics : Statistics {
  std::string repeats = "runs";
  double practical_bound = 0;
  Both<std::vector<RunValue>> values = {};
  Both<std::optional<StepSpread>> within_one_run = {};
  static constexpr auto fields() {
    using S = WindowStatistics;
    return std::tuple_cat(
        Statistics::fields(),
        std::tuple{
            field("repeats", &S::repeats, "what counts as a repeat"),
            field("practical_bound", &S::practical_bound, "smaller changes of the ratio do not matter"),
            field("values", &S::values, "the window of each run"),
            field("within_one_run", &S::within_one_run,
                  "steps of the run that represents the side; null with fewer than two")});
  }
};

/// The figure of each run, for pictures.
using RunValues = Both<std::vector<double>>;

// ---- Where the difference is

/// What a moment of the window was spent on: the parts of a side add up to its window.
struct PartRow {
  PartKind kind = PartKind::kRest;
  std::string name;
  std::string words;
  int64_t base_ns = 0, new_ns = 0, delta_ns = 0;
  std::optional<Statistics> statistics;
  std::optional<RunValues> values;
  static constexpr auto fields() {
    using S = PartRow;
    return std::tuple{
        field("kind", &S::kind, "what the time was spent on"),
        field("name", &S::name, "class of compute, cause of idle time, or the kind again"),
        field("words", &S::words, "the same, in words"),
        field("base_ns", &S::base_ns, "time of the base"),
        field("new_ns", &S::new_ns, "time of the new side"),
        field("delta_ns", &S::delta_ns, "new minus base"),
        field_if_any("statistics", &S::statistics, "the verdict, if the part is large enough to be tested"),
        field_if_any("values", &S::values, "for pictures: its time in each run")};
  }
};

/// The work of one row of changes on one side.
struct WorkAmount {
  std::vector<std::string> names;
  int64_t calls = 0;
  double calls_per_unit = 0;
  int64_t time_ns = 0;
  double mean_ns = 0;
  static constexpr auto fields() {
    using S = WorkAmount;
    return std::tuple{field("names", &S::names, "full names; several if work was fused or split"),
                      field("calls", &S::calls, "in the whole window"),
                      field("calls_per_unit", &S::calls_per_unit, "in one unit of the window"),
                      field("time_ns", &S::time_ns, "time of the window that belongs to this work alone"),
                      field("mean_ns", &S::mean_ns, "duration of one call")};
  }
};

/// A counter of a kernel that a counter profiler measured.
struct CounterRow {
  std::string metric;
  std::optional<double> base, next, delta;
  static constexpr auto fields() {
    using S = CounterRow;
    return std::tuple{field("metric", &S::metric, "which counter"),
                      field("base", &S::base, "null if it was not measured"),
                      field("new", &S::next, "null if it was not measured"),
                      field("delta", &S::delta, "null unless both were measured")};
  }
};

/// What became of the work of one name.
struct ChangeRow {
  ChangeKind kind = ChangeKind::kChanged;
  std::string name;
  std::string op_class;
  std::optional<std::string> op;
  std::optional<WorkAmount> base, next;
  int64_t delta_ns = 0, by_calls_ns = 0, by_duration_ns = 0;
  int64_t moved = 0, reshaped = 0;
  std::optional<double> match_confidence;
  std::vector<CounterRow> metrics;
  std::optional<Statistics> statistics;
  std::optional<RunValues> values;
  std::optional<double> p_adjusted;
  static constexpr auto fields() {
    using S = ChangeRow;
    return std::tuple{
        field("kind", &S::kind, "what happened to the work"),
        field("name", &S::name, "short name"),
        field("class", &S::op_class, "what the work does: gemm, attention, copy …"),
        field("op", &S::op, "the op that launched it; null if it is not known"),
        field("base", &S::base, "null if the base has none of it"),
        field("new", &S::next, "null if the new side has none of it"),
        field("delta_ns", &S::delta_ns, "new minus base"),
        field("by_calls_ns", &S::by_calls_ns,
              "part of the difference from more or fewer calls, at the time of one call in the base"),
        field("by_duration_ns", &S::by_duration_ns, "the rest of the difference"),
        field("moved", &S::moved, "matched pieces of work at another place"),
        field("reshaped", &S::reshaped, "matched pieces of work with other shapes"),
        field("match_confidence", &S::match_confidence,
              "how sure the match is, from 0 to 1, weighted by time; null without a match"),
        field("metrics", &S::metrics, "counters of its kernels; empty if not measured"),
        field_if_any("statistics", &S::statistics, "the verdict, if the row can be tested"),
        field_if_any("values", &S::values, "for pictures: its time in each run"),
        field_if_any("p_adjusted", &S::p_adjusted, "adjusted p of the statistics, not rounded")};
  }
};

/// Work by the op or the module that launched it.
struct GroupRow {
  std::optional<std::string> name;
  int64_t base_ns = 0, new_ns = 0;
  int64_t base_calls = 0, new_calls = 0;
  int64_t delta_ns = 0;
  static constexpr auto fields() {
    using S = GroupRow;
    return std::tuple{field("name", &S::name, "name; null: work that belongs to none"),
                      field("base_ns", &S::base_ns, "time of the base"),
                      field("new_ns", &S::new_ns, "time of the new side"),
                      field("base_calls", &S::base_calls, "in the whole window"),
                      field("new_calls", &S::new_calls, "in the whole window"),
                      field("delta_ns", &S::delta_ns, "new minus base")};
  }
};

/// Rows that are left out.
struct NotShown {
  int64_t rows = 0;
  int64_t delta_ns = 0;
  static constexpr auto fields() {
    return std::tuple{field("rows", &NotShown::rows, "how many"),
                      field("delta_ns", &NotShown::delta_ns, "their sum")};
  }
};

// ---- Whole runs

struct DeviceTimes {
  int64_t compute_ns = 0, exposed_comm_ns = 0, exposed_copy_ns = 0, idle_ns = 0;
  static constexpr auto fields() {
    using S = DeviceTimes;
    return std::tuple{field("compute_ns", &S::compute_ns, "time in compute"),
                      field("exposed_comm_ns", &S::exposed_comm_ns, "communication while no compute runs"),
                      field("exposed_copy_ns", &S::exposed_copy_ns, "copies while nothing else runs"),
                      field("idle_ns", &S::idle_ns, "time in which nothing ran")};
  }
};

struct DeviceRow {
  std::string device;
  std::optional<DeviceTimes> base, next;
  static constexpr auto fields() {
    return std::tuple{field("device", &DeviceRow::device, "the device, with its rank if there are several"),
                      field_if_any("base", &DeviceRow::base, "only if the base has this device"),
                      field_if_any("new", &DeviceRow::next, "only if the new side has this device")};
  }
};

struct WorkTotals {
  int64_t kernels = 0, kernel_ns = 0, copies = 0, copy_ns = 0;
  static constexpr auto fields() {
    using S = WorkTotals;
    return std::tuple{field("kernels", &S::kernels, "launches of kernels"),
                      field("kernel_ns", &S::kernel_ns, "sum of durations"),
                      field("copies", &S::copies, "copies of memory"),
                      field("copy_ns", &S::copy_ns, "sum of durations")};
  }
};

// ---- Across hardware or backends

/// Shares of the window, from 0 to 1.
struct PartShares {
  double compute = 0, communication = 0, copy = 0, idle = 0, rest = 0;
  static constexpr auto fields() {
    using S = PartShares;
    return std::tuple{field("compute", &S::compute, "compute"),
                      field("communication", &S::communication, "communication while no compute runs"),
                      field("copy", &S::copy, "copies while nothing else runs"),
                      field("idle", &S::idle, "nothing ran"),
                      field("rest", &S::rest, "not explained by the source")};
  }
};

/// The device of a side, with what the table of peaks says of it.
struct AcrossDevice {
  std::optional<std::string> device;
  std::optional<double> bandwidth_bytes_per_s, bf16_flops_per_s;
  std::optional<std::string> peaks_source;
  std::optional<double> roof_share, modelled_share, mfu, mbu;
  static constexpr auto fields() {
    using S = AcrossDevice;
    return std::tuple{
        field("device", &S::device, "name of the device"),
        field("bandwidth_bytes_per_s", &S::bandwidth_bytes_per_s, "peak of its memory"),
        field("bf16_flops_per_s", &S::bf16_flops_per_s, "peak of dense bf16"),
        field("peaks_source", &S::peaks_source, "where the peaks come from"),
        field("roof_share", &S::roof_share, "shortest time that the peaks allow divided by the time it took"),
        field("modelled_share", &S::modelled_share, "share of the busy time that has a model"),
        field("mfu", &S::mfu, "share of the peak of compute that was used"),
        field("mbu", &S::mbu, "share of the peak of memory that was used")};
  }
};

struct AcrossFigures {
  int64_t window_ns = 0, busy_ns = 0;
  PartShares shares;
  int64_t pieces = 0;
  std::optional<AcrossDevice> device;
  static constexpr auto fields() {
    using S = AcrossFigures;
    return std::tuple{field("window_ns", &S::window_ns, "length of one unit of the window"),
                      field("busy_ns", &S::busy_ns, "part of it in which the device worked"),
                      field("shares", &S::shares, "shares of the window, by kind of part"),
                      field("pieces", &S::pieces, "of work"), merged(&S::device)};
  }
};

/// What one side spent on one op or class.
struct AcrossAmount {
  int64_t time_ns = 0;
  int64_t calls = 0;
  double share = 0;
  std::optional<double> roof_share;
  static constexpr auto fields() {
    using S = AcrossAmount;
    return std::tuple{
        field("time_ns", &S::time_ns, "time of one unit of the window"),
        field("calls", &S::calls, "in the whole window"), field("share", &S::share, "share of the busy time"),
        field("roof_share", &S::roof_share,
              "shortest time that the peaks allow divided by the time it took; null without a model")};
  }
};

struct AcrossRow {
  std::string name;
  AcrossAmount base, next;
  std::optional<double> time_ratio, call_time_ratio, hardware_ratio, efficiency_ratio;
  std::optional<int64_t> lost_ns;
  static constexpr auto fields() {
    using S = AcrossRow;
    return std::tuple{
        field("name", &S::name, "the op or the class"),
        field("base", &S::base, "time that the base spent on it"),
        field("new", &S::next, "time that the new side spent on it"),
        field("time_ratio", &S::time_ratio, "new divided by base; null unless both have some"),
        field("call_time_ratio", &S::call_time_ratio, "the same for one call that has a model"),
        field("hardware_ratio", &S::hardware_ratio,
              "the ratio that the peaks alone would give for such a call"),
        field("efficiency_ratio", &S::efficiency_ratio, "share of the roof, new divided by base"),
        field("lost_ns", &S::lost_ns,
              "time of the new side beyond what its peaks predict from the time of the base")};
  }
};

struct Across {
  AcrossLevel level = AcrossLevel::kClass;
  std::string words;
  std::array<AcrossFigures, 2> sides;
  std::vector<AcrossRow> rows;
  Both<double> covered;
  static constexpr auto fields() {
    using S = Across;
    return std::tuple{field("level", &S::level, "what the rows are"),
                      field("words", &S::words, "what is compared, and why"),
                      field("sides", &S::sides, "the base, then the new side"),
                      field("rows", &S::rows, "those with the most time first"),
                      field("covered", &S::covered, "share of the busy time in rows that both sides have")};
  }
};

// ---- What the caller asked for

/// A limit that a file of expectations sets.
struct LimitCheck {
  std::string kind;
  std::string what;
  std::string limit;
  std::optional<int64_t> value_ns;
  std::optional<double> share;
  bool met = false;
  static constexpr auto fields() {
    using S = LimitCheck;
    return std::tuple{field("kind", &S::kind, "window, part or kernel"),
                      field("what", &S::what, "which one"),
                      field("limit", &S::limit, "as written in the file"),
                      field("value_ns", &S::value_ns, "value of the new side; null if nothing has that name"),
                      field("share", &S::share, "of the window"),
                      field("met", &S::met, "whether the new side keeps the limit")};
  }
};

/// The one thing besides limits that a gate can fail on.
inline constexpr char kGateWindow[] = "window";

struct GateResult {
  bool passed = false;
  std::string reason;
  std::vector<std::string> failed_on = {};
  static constexpr auto fields() {
    using S = GateResult;
    return std::tuple{field("passed", &S::passed, "whether the comparison passes"),
                      field("reason", &S::reason, "why"),
                      field("failed_on", &S::failed_on,
                            "window, and each limit that is not kept; empty if the comparison passes")};
  }
};

struct WrittenFile {
  std::string format;
  std::string name;
  size_t bytes = 0;
  static constexpr auto fields() {
    return std::tuple{field("format", &WrittenFile::format, "html, markdown or junit"),
                      field("name", &WrittenFile::name, "path as it was given"),
                      field("bytes", &WrittenFile::bytes, "size")};
  }
};

// ---- The whole answer

struct Comparison {
  std::string sentence;
  stats::Verdict verdict = stats::Verdict::kNotTested;
  std::vector<std::string> reasons;
  std::vector<std::string> remarks;
  Mode mode = Mode::kSame;
  ComparabilityScore comparability;
  ComparedSide base, next;
  int64_t delta_ns = 0;
  std::optional<double> ratio;
  std::string unit;
  std::vector<PartRow> parts;
  std::vector<ChangeRow> changes;
  NotShown not_shown;
  Both<std::optional<double>> matched;
  std::vector<GroupRow> ops, modules;
  std::optional<NotShown> ops_not_shown, modules_not_shown;
  std::vector<DeviceRow> devices;
  Both<WorkTotals> totals;
  WindowStatistics statistics;
  std::vector<std::string> differences;
  std::optional<Across> across;
  std::vector<LimitCheck> expectations;
  std::optional<GateResult> gate;
  std::optional<std::vector<WrittenFile>> files;
  static constexpr auto fields() {
    using S = Comparison;
    return std::tuple{
        field("sentence", &S::sentence,
              "the comparison in one sentence, from parts that add up to the delta"),
        field("verdict", &S::verdict, "what the comparison shows about the window"),
        field("reasons", &S::reasons, "why this verdict, in words"),
        field("remarks", &S::remarks,
              "what can be concluded from the times and what cannot, where this is not obvious"),
        field("mode", &S::mode, "whether hardware and backend are the same"),
        field("comparability", &S::comparability, "whether times of the two sides may be compared"),
        field("base", &S::base, "the side that the new side is compared with"),
        field("new", &S::next, "the side that is compared with the base"),
        field("delta_ns", &S::delta_ns, "difference of one unit of the window; the parts add up to it"),
        field("ratio", &S::ratio, "new over base; null if the base has no time"),
        field("unit", &S::unit, "what times are given for"),
        field("parts", &S::parts, "the largest difference first"),
        field("changes", &S::changes, "work by name, the largest difference first"),
        field("not_shown", &S::not_shown, "rows of changes that are not listed"),
        field("matched", &S::matched, "share of the work that has a counterpart; null without work"),
        field("ops", &S::ops, "work by op, the largest difference first"),
        field("modules", &S::modules, "work by module, the largest difference first"),
        field_if_any("ops_not_shown", &S::ops_not_shown, "rows of ops that are not listed"),
        field_if_any("modules_not_shown", &S::modules_not_shown, "rows of modules that are not listed"),
        field("devices", &S::devices, "all devices of both sides"),
        field("totals", &S::totals, "over all devices and units: sums of durations, not wall time"),
        field("statistics", &S::statistics, "of the window"),
        field("differences", &S::differences, "labels and facts of the runs that differ"),
        field("across", &S::across, "across hardware or backends: what can be compared there; else null"),
        field("expectations", &S::expectations, "limits of the file of expectations"),
        field_if_any("gate", &S::gate, "the result of the gate, if one was asked for"),
        field_if_any("files", &S::files, "written reports")};
  }
};

}  // namespace nl::compare

namespace nl {

template <>
struct DescribedAs<compare::Mode> : DescribedEnum<compare::Mode, compare::mode_name, 3> {};
template <>
struct DescribedAs<compare::FactorState>
    : DescribedEnum<compare::FactorState, compare::factor_state_name, 3> {};
template <>
struct DescribedAs<compare::PartKind>
    : DescribedEnum<compare::PartKind, compare::part_kind_name, compare::kPartKinds> {};
template <>
struct DescribedAs<compare::ChangeKind> : DescribedEnum<compare::ChangeKind, compare::change_kind_name, 7> {};
template <>
struct DescribedAs<compare::AcrossLevel>
    : DescribedEnum<compare::AcrossLevel, compare::across_level_name, 2> {};

}  // namespace nl
