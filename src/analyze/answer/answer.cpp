#include <algorithm>

#include "analyze/answer/device.h"
#include "analyze/answer/window.h"

namespace nl::analyze {

std::string_view device_kind_name(DeviceKind kind) {
  return kind == DeviceKind::kHost ? "host" : "device";
}

std::vector<const OutsideAnswer*> WindowAnswer::shown_outside() const {
  std::vector<const OutsideAnswer*> shown;
  for (const OutsideAnswer& part : outside) {
    if (part.dur_ns * 1000 >= capture_ns) shown.push_back(&part);
  }
  return shown;
}

const Decomposition& StepAnswer::on(const DeviceName& device) const {
  return std::find_if(devices.begin(), devices.end(),
                      [&](const StepOnDevice& one) { return one.on == device; })
      ->time;
}

}  // namespace nl::analyze
