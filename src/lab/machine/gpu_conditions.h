#pragma once
// What the GPUs did during a run, from the telemetry that was written beside it (capture/gpu_telemetry).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/described.h"

namespace nl::lab {

struct GpuConditions {
  int64_t index = 0;
  int64_t samples = 0;
  std::optional<int64_t> sm_mhz_low = {};
  std::optional<int64_t> sm_mhz_high = {};
  std::optional<double> power_w = {};
  std::optional<double> temperature_c = {};
  std::optional<int64_t> slowed = {};

  static constexpr auto fields() {
    using G = GpuConditions;
    return std::tuple{field("index", &G::index),
                      field("samples", &G::samples),
                      field_if_any("sm_mhz_low", &G::sm_mhz_low, "lowest clock of the SMs"),
                      field_if_any("sm_mhz_high", &G::sm_mhz_high, "highest"),
                      field_if_any("power_w", &G::power_w, "mean"),
                      field_if_any("temperature_c", &G::temperature_c, "highest"),
                      field_if_any("slowed", &G::slowed,
                                   "samples in which it slowed down for its temperature or its supply")};
  }
};

/// One a GPU, by index; what its driver does not say is absent.
std::vector<GpuConditions> gpu_conditions(const std::string& csv);

}  // namespace nl::lab
