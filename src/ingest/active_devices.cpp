#include "ingest/active_devices.h"

#include <algorithm>

namespace nl::ingest {

void mark_active_devices(const std::set<int64_t>& numbers, size_t most, model::RunInfo& info) {
  for (const int64_t number : numbers) {
    if (number < 0 || number > INT32_MAX) continue;
    const auto same = [&](const model::Device& device) { return device.device == number; };
    auto it = std::find_if(info.devices.begin(), info.devices.end(), same);
    if (it == info.devices.end() && info.devices.size() < most) {
      model::Device device;
      device.device = static_cast<int32_t>(number);
      device.vendor = "NVIDIA";
      it = info.devices.insert(info.devices.end(), std::move(device));
    }
    if (it != info.devices.end()) it->active = true;
  }
  std::stable_sort(info.devices.begin(), info.devices.end(),
                   [](const auto& a, const auto& b) { return a.device < b.device; });
}

}  // namespace nl::ingest
