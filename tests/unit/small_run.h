#pragma once
// A small time line made by hand: one thread and two streams of one device.

#include <algorithm>
#include <array>
#include <string>

#include "analyze/load/devices.h"
#include "analyze/time/idle.h"

namespace nl::analyze {

/// One thread (track 0) and the streams of device 0 (tracks 1 and 2).
class SmallRun {
 public:
  SmallRun() {
    run.tracks.resize(3);
    run.names.add("");
    run.capture = {0, 0};
  }

  uint32_t span(model::SpanKind kind, const std::string& name, Interval time, uint32_t parent = kNoRow,
                uint32_t op = kNoRow) {
    const auto id = static_cast<uint32_t>(run.spans.size());
    run.spans.start.push_back(time.begin);
    run.spans.end.push_back(time.end);
    run.spans.name.push_back(run.names.add(name));
    run.spans.op_type.push_back(run.spans.name.back());
    run.spans.parent.push_back(parent);
    run.spans.op.push_back(kind == model::SpanKind::op ? id : op);
    run.spans.track.push_back(0);
    run.spans.kind.push_back(kind);
    run.capture.end = std::max(run.capture.end, time.end);
    return id;
  }

  void work(DeviceRows& rows, const std::string& name, Interval time, uint32_t launch, int32_t stream = 1) {
    rows.start.push_back(time.begin);
    rows.end.push_back(time.end);
    rows.name.push_back(run.names.add(name));
    rows.launch.push_back(launch);
    rows.op.push_back(launch == kNoRow ? kNoRow : run.spans.op[launch]);
    rows.track.push_back(stream);
    rows.device.push_back(0);
    run.capture.end = std::max(run.capture.end, time.end);
  }
  void kernel(const std::string& name, Interval time, uint32_t launch = kNoRow, int32_t stream = 1) {
    work(run.kernels, name, time, launch, stream);
  }

  /// A launch call of 10 ns at `called`, and its kernel.
  void launched(int64_t called, Interval time, const std::string& name = "k") {
    kernel(name, time, span(model::SpanKind::runtime, "cudaLaunchKernel", {called, called + 10}));
  }

  Device device() const {
    NameClasses classes;
    classes.kernel.assign(run.names.size(), OpClass::k_gemm);
    classes.op = classes.kernel;
    return devices_of(run, classes).at(0);
  }
  std::array<int64_t, kIdleCauses> causes(const IntervalSet& waits = {}) const {
    const auto pieces = explain_idle(run, device(), HostActivity(run), waits);
    return idle_causes(pieces, {run.capture});
  }
  int64_t cause(IdleCause which, const IntervalSet& waits = {}) const {
    return causes(waits)[static_cast<size_t>(which)];
  }

  Timeline run;
};

}  // namespace nl::analyze
