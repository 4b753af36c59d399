#include "capture/gpu_telemetry.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "base/files.h"
#include "wire/clock_pair.h"

namespace nl::capture {
namespace {

constexpr auto kPeriod = std::chrono::milliseconds(100);
constexpr const char* kHeader =
    "time,index,name,power.draw [mW],clocks.current.sm [MHz],clocks.current.memory [MHz],utilization.gpu [%],"
    "utilization.memory [%],temperature.gpu,memory.used [B],clocks_event_reasons.active\n";

// Of nvml.h, whose functions keep their names and layouts.
using Device = void*;
struct Utilization {
  unsigned gpu;
  unsigned memory;
};
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
constexpr unsigned kSmClock = 1, kMemoryClock = 2, kGpuSensor = 0;

std::string text_of(const std::optional<unsigned long long>& value) {
  return value ? std::to_string(*value) : "[N/A]";
}

}  // namespace

class NvmlDevices {
 public:
  static Result<std::unique_ptr<NvmlDevices>> open(const Environment& surroundings) {
    std::unique_ptr<NvmlDevices> nvml(new NvmlDevices);
    const bool is_given = surroundings.has(kNvmlVariable);
    nvml->path_ = is_given ? surroundings.get(kNvmlVariable) : "libnvidia-ml.so.1";
    nvml->library_ = dlopen(nvml->path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (nvml->library_ == nullptr) return Error{ErrorCode::kUnavailable, nvml->path_ + " does not exist"};
    if (!nvml->find_functions()) return Error{ErrorCode::kUnavailable, nvml->path_ + " lacks functions"};
    if (nvml->init_() != 0) return Error{ErrorCode::kUnavailable, nvml->path_ + " finds no driver"};
    nvml->is_ready_ = true;
    nvml->find_devices();
    if (nvml->devices_.empty()) return Error{ErrorCode::kUnavailable, nvml->path_ + " shows no GPU"};
    return nvml;
  }
  ~NvmlDevices() {
    if (is_ready_) shutdown_();
    if (library_ != nullptr) dlclose(library_);
  }
  NvmlDevices(const NvmlDevices&) = delete;
  NvmlDevices& operator=(const NvmlDevices&) = delete;

  const std::string& path() const { return path_; }
  size_t count() const { return devices_.size(); }

  /// One line a device.
  std::string sample() const {
    std::string lines;
    for (size_t i = 0; i < devices_.size(); i++) {
      const int64_t now = wire::clock_ns(CLOCK_REALTIME);
      char time[40];
      snprintf(time, sizeof time, "%lld.%09lld", static_cast<long long>(now / 1'000'000'000),
               static_cast<long long>(now % 1'000'000'000));
      lines += std::string(time) + "," + std::to_string(i) + ",\"" + devices_[i].name + "\"" +
               values_of(devices_[i].device) + "\n";
    }
    return lines;
  }

 private:
  struct Known {
    Device device;
    std::string name;
  };

  NvmlDevices() = default;

  template <class F>
  bool find(const char* name, F*& function) {
    void* const symbol = dlsym(library_, name);
    std::memcpy(&function, &symbol, sizeof symbol);
    return symbol != nullptr;
  }
  /// Those that only give a value may be missing: then it is not known.
  bool find_functions() {
    find("nvmlDeviceGetName", name_);
    find("nvmlDeviceGetPowerUsage", power_);
    find("nvmlDeviceGetClockInfo", clock_);
    find("nvmlDeviceGetUtilizationRates", utilization_);
    find("nvmlDeviceGetTemperature", temperature_);
    find("nvmlDeviceGetMemoryInfo", memory_);
    if (!find("nvmlDeviceGetCurrentClocksEventReasons", reasons_))
      find("nvmlDeviceGetCurrentClocksThrottleReasons", reasons_);
    return find("nvmlInit_v2", init_) && find("nvmlShutdown", shutdown_) &&
           find("nvmlDeviceGetCount_v2", count_) && find("nvmlDeviceGetHandleByIndex_v2", handle_);
  }

  void find_devices() {
    unsigned count = 0;
    if (count_(&count) != 0) return;
    for (unsigned i = 0; i < count; i++) {
      Device device = nullptr;
      if (handle_(i, &device) != 0) continue;
      char name[97] = {};
      if (name_ == nullptr || name_(device, name, sizeof name - 1) != 0) name[0] = '\0';
      std::string text = name;
      std::erase_if(text, [](char c) { return c == '"' || c == '\n'; });
      devices_.push_back({device, std::move(text)});
    }
  }

  std::string values_of(Device device) const {
    unsigned number = 0;
    unsigned long long wide = 0;
    Utilization used{};
    Memory memory{};
    const auto known = [](bool is_known, unsigned long long value) {
      return "," + text_of(is_known ? std::optional(value) : std::nullopt);
    };
    const bool has_power = power_ != nullptr && power_(device, &number) == 0;
    std::string values = known(has_power, number);
    for (const unsigned clock : {kSmClock, kMemoryClock}) {
      const bool is_known = clock_ != nullptr && clock_(device, clock, &number) == 0;
      values += known(is_known, number);
    }
    const bool has_use = utilization_ != nullptr && utilization_(device, &used) == 0;
    values += known(has_use, used.gpu) + known(has_use, used.memory);
    const bool has_temperature = temperature_ != nullptr && temperature_(device, kGpuSensor, &number) == 0;
    values += known(has_temperature, number);
    const bool has_memory = memory_ != nullptr && memory_(device, &memory) == 0;
    values += known(has_memory, memory.used);
    const bool has_reasons = reasons_ != nullptr && reasons_(device, &wide) == 0;
    return values + known(has_reasons, wide);
  }

  std::string path_;
  void* library_ = nullptr;
  bool is_ready_ = false;
  std::vector<Known> devices_;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*handle_)(unsigned, Device*) = nullptr;
  int (*name_)(Device, char*, unsigned) = nullptr;
  int (*power_)(Device, unsigned*) = nullptr;
  int (*clock_)(Device, unsigned, unsigned*) = nullptr;
  int (*utilization_)(Device, Utilization*) = nullptr;
  int (*temperature_)(Device, unsigned, unsigned*) = nullptr;
  int (*memory_)(Device, Memory*) = nullptr;
  int (*reasons_)(Device, unsigned long long*) = nullptr;
};

Result<std::string> describe_nvml(const Environment& surroundings) {
  NL_TRY(const auto devices, NvmlDevices::open(surroundings));
  return devices->path() + ", GPUs: " + std::to_string(devices->count());
}

Result<std::unique_ptr<GpuTelemetry>> GpuTelemetry::start(const Environment& surroundings,
                                                          const std::string& path) {
  NL_TRY(auto devices, NvmlDevices::open(surroundings));
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return errno_error("cannot write", path, errno);
  return std::unique_ptr<GpuTelemetry>(new GpuTelemetry(std::move(devices), fd));
}

GpuTelemetry::GpuTelemetry(std::unique_ptr<NvmlDevices> devices, int fd)
    : devices_(std::move(devices)), fd_(fd), thread_([this] { return sample_until_stopped(); }) {}

GpuTelemetry::~GpuTelemetry() {
  {
    const std::lock_guard held(mutex_);
    is_stopping_ = true;
  }
  stopping_.notify_one();
  (void)thread_.join();  // fewer samples are no reason to lose the run
  ::close(fd_);
}

/// Whole lines, so that a killed recorder leaves no half of one. A full disk ends the sampling, not the run.
Result<void> GpuTelemetry::sample_until_stopped() {
  std::string lines = kHeader;
  std::unique_lock held(mutex_);
  do {
    lines += devices_->sample();
    if (::write(fd_, lines.data(), lines.size()) != static_cast<ssize_t>(lines.size())) return {};
    lines.clear();
  } while (!stopping_.wait_for(held, kPeriod, [this] { return is_stopping_; }));
  return {};
}

}  // namespace nl::capture
