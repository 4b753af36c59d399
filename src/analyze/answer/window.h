#pragma once
// The part of an analysis about the window itself: its pieces, its limiters and the steps of the run.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/answer/device_name.h"
#include "analyze/load/decomposition.h"
#include "analyze/load/intervals.h"

namespace nl::analyze {

/// A part of the capture that the steady window leaves out.
struct OutsideAnswer {
  std::string what = {};
  int64_t start_ns = 0;
  int64_t dur_ns = 0;
  std::string why = {};
  std::optional<int64_t> longest_gap_ns = {};
  std::optional<std::string> host_span = {};

  static constexpr auto fields() {
    using O = OutsideAnswer;
    return std::tuple{
        field("what", &O::what, "capture_start, setup, first_step, warm_up, between_iterations or tail"),
        field("start_ns", &O::start_ns, "start, on the common clock"),
        field("dur_ns", &O::dur_ns, "its length; of between_iterations, the sum of its pieces"),
        field("why", &O::why, "why it is not part of the steady window, in words"),
        field("longest_gap_ns", &O::longest_gap_ns,
              "longest idle gap of the main device inside it, if it is known what the host did then"),
        field("host_span", &O::host_span, "what the launching thread did in that gap")};
  }
};

struct WindowAnswer {
  std::string name = {};
  int64_t total_ns = 0;
  int64_t pieces = 0;
  IntervalSet intervals = {};
  int64_t capture_ns = 0;
  std::optional<std::string> why = {};
  std::vector<OutsideAnswer> outside = {};

  /// The parts outside that are worth a line: a thousandth of the capture or more.
  std::vector<const OutsideAnswer*> shown_outside() const;

  static constexpr auto fields() {
    using W = WindowAnswer;
    return std::tuple{field("name", &W::name, "name of the window, as it was asked for"),
                      field("total_ns", &W::total_ns, "sum of its pieces"),
                      field("pieces", &W::pieces, "how many pieces of time it has"),
                      field("intervals", &W::intervals, "the first of its pieces"),
                      field("capture_ns", &W::capture_ns, "length of the whole capture"),
                      field("why", &W::why, "for the steady window: how it was chosen"),
                      field("outside", &W::outside,
                            "for the steady window: the parts of the capture that it leaves out; together "
                            "they are the whole capture")};
  }
};

/// What takes the time of the window, in one line.
struct LimiterAnswer {
  DeviceName on = {};
  std::string what = {};
  int64_t time_ns = 0;
  double share = 0;
  std::string words = {};

  static constexpr auto fields() {
    using L = LimiterAnswer;
    return std::tuple{
        merged(&L::on),
        field("what", &L::what, "compute, exposed_comm, exposed_copy, host, or the name of an idle cause"),
        field("time_ns", &L::time_ns, "of the window"), field("share", &L::share, "of the window"),
        field("words", &L::words, "what it is, in words")};
  }
};

struct StepOnDevice {
  Decomposition time = {};
  DeviceName on = {};
  int64_t of_other_steps_ns = 0;

  static constexpr auto fields() {
    return std::tuple{merged(&StepOnDevice::time), merged(&StepOnDevice::on),
                      field("of_other_steps_ns", &StepOnDevice::of_other_steps_ns,
                            "sum of the work inside the step that another step launched")};
  }
};

struct StepAnswer {
  std::string window = {};
  std::optional<std::string> label = {};
  std::optional<std::string> phase = {};
  int64_t start_ns = 0;
  int64_t dur_ns = 0;
  std::optional<int64_t> host_start_ns = {};
  std::optional<int64_t> host_dur_ns = {};
  std::vector<StepOnDevice> devices = {};

  /// The step on one device; every step has all devices of the run.
  const Decomposition& on(const DeviceName& device) const;

  static constexpr auto fields() {
    using S = StepAnswer;
    return std::tuple{field("window", &S::window, "name of the window that is this step"),
                      field("label", &S::label, "name of the step in the source"),
                      field("phase", &S::phase, "for an LLM: prefill, decode_step or mixed"),
                      field("start_ns", &S::start_ns, "start, on the common clock"),
                      field("dur_ns", &S::dur_ns,
                            "its length on the main device: until the first work of the next step; for the "
                            "last step, until the end of its own work"),
                      field("host_start_ns", &S::host_start_ns, "the range of the host that marks it"),
                      field("host_dur_ns", &S::host_dur_ns, "length of that range"),
                      field("devices", &S::devices, "the step on each device")};
  }
};

struct StepsAnswer {
  std::string source = {};
  int64_t count = 0;
  int64_t without_work = 0;
  std::optional<double> confidence = {};
  std::optional<int64_t> kernels_in_period = {};
  std::vector<StepAnswer> list = {};

  static constexpr auto fields() {
    using S = StepsAnswer;
    return std::tuple{
        field("source", &S::source,
              "how the steps were found: profiler_step, engine_step, model_run, inference, annotation, "
              "graph_launch, period, none"),
        field("count", &S::count, "all steps of the capture"),
        field("without_work", &S::without_work, "marked steps that launched no device work; not counted"),
        field("confidence", &S::confidence, "for a period: share of the kernels that repeat after it"),
        field("kernels_in_period", &S::kernels_in_period, "only for a period that was found in the kernels"),
        field("list", &S::list, "the first of them, of the whole capture")};
  }
};

}  // namespace nl::analyze

namespace nl {

/// [begin, end)
template <>
struct DescribedAs<analyze::Interval> {
  static void write(ValueWriter& out, const analyze::Interval& interval) {
    write_value(out, std::array{interval.begin, interval.end});
  }
  static void schema(ValueWriter& out, const char*) {
    DescribedAs<std::array<int64_t, 2>>::schema(out, "[begin_ns, end_ns), start, on the common clock");
  }
};

}  // namespace nl
