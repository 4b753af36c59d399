#pragma once
// GpuTelemetry: samples power, clocks, utilisation, temperature, memory and throttle reasons of every NVIDIA
// GPU through libnvidia-ml. It writes a CSV file in the form of `nvidia-smi --query-gpu`, so that the
// telemetry adapter can read it. Values that a GPU does not provide are [N/A]. The object owns the thread
// that samples.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "base/checked_thread.h"
#include "base/environment.h"
#include "base/result.h"

namespace nl::capture {

/// Its name among the artefacts of a run.
inline constexpr const char* kTelemetryFile = "telemetry.csv";
inline constexpr const char* kNvmlVariable =
    "NEUROLENS_NVML";  ///< path of libnvidia-ml, instead of the usual name

/// The functions of libnvidia-ml and the devices that they gave.
class NvmlDevices;

/// The name of the library and the number of devices; else why there is nothing to sample.
Result<std::string> describe_nvml(const Environment& surroundings);

class GpuTelemetry {
 public:
  /// `unavailable` without a GPU or the library. The file is made here.
  static Result<std::unique_ptr<GpuTelemetry>> start(const Environment& surroundings,
                                                     const std::string& path);
  /// Ends the sampling; the file is complete then.
  ~GpuTelemetry();
  GpuTelemetry(const GpuTelemetry&) = delete;
  GpuTelemetry& operator=(const GpuTelemetry&) = delete;

 private:
  GpuTelemetry(std::unique_ptr<NvmlDevices> devices, int fd);
  Result<void> sample_until_stopped();

  std::unique_ptr<NvmlDevices> devices_;
  int fd_;
  std::mutex mutex_;
  std::condition_variable stopping_;
  bool is_stopping_ = false;
  CheckedThread thread_;
};

}  // namespace nl::capture
