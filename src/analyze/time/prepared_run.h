#pragma once
// PreparedRun: a run that is ready for questions about any window. It owns the time line, the devices with
// their idle causes and launches, the host activity and the windows. Built once, then read-only.

#include <memory>
#include <vector>

#include "analyze/answer/device_name.h"
#include "analyze/load/launches.h"
#include "analyze/load/windows.h"
#include "analyze/time/idle.h"

namespace nl::analyze {

struct DeviceState {
  Device device;
  IdleTimes idle;
  PagedVector<Launch> launches;
};

struct PreparedRun {
  Timeline timeline;
  NameClasses classes;
  Windows windows;
  std::vector<DeviceState> devices;
  DevicesLeftOut left_out;
  std::unique_ptr<HostActivity> host;
  std::unique_ptr<CauseRecord> waits;  ///< of streams
};

/// The device with the most kernel time; null if there are no devices.
const DeviceState* main_device(const PreparedRun& run);

DeviceName device_name(const Device& device);

/// The ranges of the runs of a session, as ONNX Runtime marks them; empty where the source marks none.
IntervalSet ranges_of_runs(const Steps& steps);

class Taxonomy;

Result<PreparedRun> prepare_run(store::OpenRun& open, const Taxonomy& taxonomy, const PhaseNames& phases);

}  // namespace nl::analyze
