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

struct WindowAnswer {
  std::string name = {};
  int64_t total_ns = 0;
  int64_t pieces = 0;
  IntervalSet intervals = {};

  static constexpr auto fields() {
    using W = WindowAnswer;
    return std::tuple{field("name", &W::name, "as it was asked for"),
                      field("total_ns", &W::total_ns, "sum of its pieces"),
                      field("pieces", &W::pieces, "how many pieces of time it has"),
                      field("intervals", &W::intervals, "the first of its pieces")};
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
        field("words", &L::words, "what it is, for people")};
  }
};

struct StepOnDevice {
  Decomposition time = {};
  DeviceName on = {};

  static constexpr auto fields() {
    return std::tuple{merged(&StepOnDevice::time), merged(&StepOnDevice::on)};
  }
};

struct StepAnswer {
  std::string window = {};
  std::optional<std::string> label = {};
  int64_t start_ns = 0;
  int64_t dur_ns = 0;
  std::vector<StepOnDevice> devices = {};

  /// The step on one device; every step has all devices of the run.
  const Decomposition& on(const DeviceName& device) const;

  static constexpr auto fields() {
    using S = StepAnswer;
    return std::tuple{field("window", &S::window, "name of the window that is this step"),
                      field("label", &S::label, "as the source names it"),
                      field("start_ns", &S::start_ns, "on the common clock"),
                      field("dur_ns", &S::dur_ns, "its length"),
                      field("devices", &S::devices, "the step on each device")};
  }
};

struct StepsAnswer {
  std::string source = {};
  int64_t count = 0;
  std::optional<double> confidence = {};
  std::optional<int64_t> kernels_in_period = {};
  std::vector<StepAnswer> list = {};

  static constexpr auto fields() {
    using S = StepsAnswer;
    return std::tuple{
        field("source", &S::source,
              "what tells the steps: profiler_step, engine_step, model_run, inference, annotation, period, "
              "none"),
        field("count", &S::count, "all steps of the capture"),
        field("confidence", &S::confidence, "of a period: share of the kernels that repeat after it"),
        field("kernels_in_period", &S::kernels_in_period, "only of a period that was found in the kernels"),
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
    DescribedAs<std::array<int64_t, 2>>::schema(out, "[begin_ns, end_ns), on the common clock");
  }
};

}  // namespace nl
