#include "report/device_label.h"

namespace nl::report {

using analyze::DeviceName;

std::string device_id(const DeviceName& device) {
  const std::string rank = device.rank ? "rank-" + std::to_string(*device.rank) + "-" : "";
  if (device.device.is_host) return rank + "host";
  const auto& number = device.device.number;
  return rank + "device-" + (number ? std::to_string(*number) : "unknown");
}

std::string device_title(const DeviceName& device) {
  const std::string rank = device.rank ? " of rank " + std::to_string(*device.rank) : "";
  if (device.device.is_host) return "host" + rank;
  const auto& number = device.device.number;
  return "device " + (number ? std::to_string(*number) : "?") + rank;
}

}  // namespace nl::report
