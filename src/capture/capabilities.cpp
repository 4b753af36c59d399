#include "capture/capabilities.h"

#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "base/process.h"
#include "capture/gpu_telemetry.h"
#include "capture/model/onnx_runtime.h"
#include "capture/sample/perf_event.h"

namespace nl::capture {
namespace {

/// Opens a counter of our own thread; 0, or errno.
int try_perf_event(uint32_t type, uint64_t config, bool context_switches) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = type;
  attributes.config = config;
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.context_switch = context_switches ? 1 : 0;
  const int fd = open_perf_event(attributes, -1);
  if (fd < 0) return -fd;
  ::close(fd);
  return 0;
}

Capability perf_capability(std::string name, const std::string& what, int failed) {
  if (failed == 0) return {std::move(name), true, what + " by perf_event"};
  const PerfRefusal refusal = perf_refusal(failed);
  return {std::move(name), false, refusal.reason, refusal.fix};
}

Capability hardware_counters() {
  const int failed = try_perf_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false);
  if (failed != ENOENT && failed != EOPNOTSUPP)
    return perf_capability("hardware_counters", "cycles and similar counters", failed);
  return {"hardware_counters", false,
          "the processor shows none: this is probably a virtual machine without them",
          "use a machine, or an instance type, with a virtual PMU"};
}

Capability tool(const Environment& surroundings, const std::string& name, const char* variable,
                const std::string& fix) {
  const std::string path =
      variable == nullptr ? find_in_path(surroundings, name) : find_program(surroundings, name, variable);
  if (!path.empty()) return {name, true, path};
  return {name, false, "not on PATH", fix};
}

Capability nvidia_driver() {
  const auto version = read_file("/proc/driver/nvidia/version");
  if (version) return {"nvidia_driver", true, version->substr(0, version->find('\n'))};
  return {"nvidia_driver", false, "no NVIDIA driver is loaded", ""};
}

Capability gpu_telemetry(const Environment& surroundings) {
  const auto nvml = describe_nvml(surroundings);
  if (nvml) return {"gpu_telemetry", true, *nvml};
  return {"gpu_telemetry", false, nvml.error().message, "comes with the NVIDIA driver"};
}

Capability amd_driver() {
  if (path_exists("/dev/kfd")) return {"amd_driver", true, "/dev/kfd"};
  return {"amd_driver", false, "no AMD driver is loaded", ""};
}

Capability onnx_runtime(const Environment& surroundings) {
  const auto library = find_onnx_runtime(surroundings, "");
  if (library) return {"onnxruntime", true, *library};
  return {"onnxruntime", false, library.error().message, library.error().hint};
}

}  // namespace

std::vector<Capability> capabilities(const Environment& surroundings) {
  return {
      perf_capability("cpu_sampling", "samples by the software clock",
                      try_perf_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, false)),
      perf_capability("context_switches", "when threads stop and continue",
                      try_perf_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, true)),
      hardware_counters(),
      nvidia_driver(),
      gpu_telemetry(surroundings),
      amd_driver(),
      onnx_runtime(surroundings),
      tool(surroundings, "nsys", "NEUROLENS_NSYS",
           "needed to read .nsys-rep files and to record NVIDIA GPUs"),
      tool(surroundings, "ncu", "NEUROLENS_NCU",
           "needed to read .ncu-rep files and for counters of NVIDIA GPUs"),
      tool(surroundings, "trtexec", "NEUROLENS_TRTEXEC", "needed only to time TensorRT engines"),
      tool(surroundings, "rocprofv3", "NEUROLENS_ROCPROFV3", "needed only to record AMD GPUs"),
      tool(surroundings, "git", nullptr, "without it a run does not know the commit of its code"),
  };
}

nlohmann::json capabilities_json(const std::vector<Capability>& list) {
  nlohmann::json json = nlohmann::json::array();
  for (const Capability& c : list)
    json.push_back({{"name", c.name}, {"works", c.works}, {"detail", c.detail}, {"fix", c.fix}});
  return json;
}

}  // namespace nl::capture
