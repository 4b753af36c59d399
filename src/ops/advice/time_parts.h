#pragma once
// Time in a few parts that add up to a whole: the window of a device, or what a file without a time line has
// instead (layers, replayed launches, samples, sums). Nothing is computed here that the analysis does not
// hold already.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/answer/analysis.h"
#include "base/result.h"
#include "store/open_run.h"

namespace nl::ops {

/// Whether a part is work, idle time with a known cause, or time about which the record says nothing.
enum class PartKind : uint8_t { kWork, kIdle, kUnknown };
inline constexpr size_t kPartKinds = 3;
std::string_view part_kind_name(PartKind kind);

/// What the parts are parts of.
enum class WholeKind : uint8_t { kWindow, kLayers, kReplays, kSamples, kSums, kNone };
inline constexpr size_t kWholeKinds = 6;
std::string_view whole_kind_name(WholeKind kind);

}  // namespace nl::ops

namespace nl {

template <>
struct DescribedAs<ops::PartKind> : DescribedEnum<ops::PartKind, ops::part_kind_name, ops::kPartKinds> {};
template <>
struct DescribedAs<ops::WholeKind> : DescribedEnum<ops::WholeKind, ops::whole_kind_name, ops::kWholeKinds> {};

}  // namespace nl

namespace nl::ops {

struct TimePart {
  analyze::DeviceName on = {};
  std::string what = {};
  PartKind kind = PartKind::kWork;
  int64_t time_ns = 0;
  double share = 0;
  std::string words = {};

  static constexpr auto fields() {
    using P = TimePart;
    return std::tuple{merged(&P::on),
                      field("what", &P::what, "name of the part: a limiter of analyze, a class, a kernel, …"),
                      field("kind", &P::kind, "unknown: the record does not say what happened in this time"),
                      field("time_ns", &P::time_ns, "of the whole"),
                      field("share", &P::share, "of the whole"),
                      field("words", &P::words, "what it is, for people")};
  }
};

struct TimeParts {
  WholeKind of = WholeKind::kNone;
  std::optional<int64_t> whole_ns = {};
  std::vector<TimePart> rows = {};
  std::optional<int64_t> mean_of_devices = {};
  std::optional<std::string> absent = {};

  static constexpr auto fields() {
    using P = TimeParts;
    return std::tuple{
        field(
            "of", &P::of,
            "what is divided: the window, the times of an engine's layers, replayed launches, samples of the "
            "processors, or sums that a profiler wrote"),
        field("whole_ns", &P::whole_ns, "the sum of all rows; null if there are none"),
        field("rows", &P::rows, "the largest first; they add up to whole_ns"),
        field("mean_of_devices", &P::mean_of_devices,
              "of a job of several ranks: the rows are means over so many devices, each with the device that "
              "has most of it"),
        field("absent", &P::absent, "why there are no rows; null if there are some")};
  }
};

/// A report of sums without a time line: what takes most.
struct SummedReport {
  std::string report = {};
  TimeParts parts = {};
};

/// What `nsys stats` and others have summed up: the report with the most rows in ns; nothing without such.
Result<std::optional<SummedReport>> summed_report(store::OpenRun& run);

/// The devices over which the limiters are means: those of a job of several ranks; nothing if the limiters
/// are of one device.
std::optional<int64_t> mean_of_devices(const analyze::Analysis& analysis);

/// `sums` is asked where the analysis has no times.
TimeParts time_parts(const analyze::Analysis& analysis, const std::optional<SummedReport>& sums);

}  // namespace nl::ops
