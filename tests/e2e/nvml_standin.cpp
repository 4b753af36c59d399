// A stand-in for libnvidia-ml, for tests alone: no GPU is here. Two devices; the second does not tell its power.
// STANDIN_NVML=no_driver and no_gpu: as its name says.

#include <cstdlib>
#include <cstring>

namespace {

constexpr int kSuccess = 0, kNotSupported = 3, kDriverNotLoaded = 9;
int numbers[2] = {0, 1};

bool is(const char* what) {
  const char* const given = std::getenv("STANDIN_NVML");
  return given != nullptr && std::strcmp(given, what) == 0;
}
int number_of(void* device) {
  return *static_cast<int*>(device);
}

}  // namespace

#define NL_NVML extern "C" __attribute__((visibility("default"))) int

NL_NVML nvmlInit_v2() {
  return is("no_driver") ? kDriverNotLoaded : kSuccess;
}
NL_NVML nvmlShutdown() {
  return kSuccess;
}
NL_NVML nvmlDeviceGetCount_v2(unsigned* count) {
  *count = is("no_gpu") ? 0 : 2;
  return kSuccess;
}
NL_NVML nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = &numbers[index];
  return kSuccess;
}
NL_NVML nvmlDeviceGetName(void*, char* name, unsigned) {
  std::strcpy(name, "Stand-in GPU, \"80GB\"");
  return kSuccess;
}
NL_NVML nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  *milliwatts = 0;
  if (number_of(device) == 1) return kNotSupported;
  *milliwatts = 74010;
  return kSuccess;
}
NL_NVML nvmlDeviceGetClockInfo(void*, unsigned type, unsigned* megahertz) {
  *megahertz = type == 1 ? 1980 : 2619;
  return kSuccess;
}
NL_NVML nvmlDeviceGetUtilizationRates(void*, unsigned* rates) {
  rates[0] = 98;
  rates[1] = 40;
  return kSuccess;
}
NL_NVML nvmlDeviceGetTemperature(void* device, unsigned, unsigned* celsius) {
  *celsius = 33 + static_cast<unsigned>(number_of(device));
  return kSuccess;
}
NL_NVML nvmlDeviceGetMemoryInfo(void*, unsigned long long* bytes) {
  bytes[0] = 80ull << 30;
  bytes[1] = 79ull << 30;
  bytes[2] = (1ull << 30) + 1;
  return kSuccess;
}
NL_NVML nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = 4;
  return kSuccess;
}
