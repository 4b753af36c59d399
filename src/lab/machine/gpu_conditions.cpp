#include "lab/machine/gpu_conditions.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/decimal.h"
#include "base/text.h"

namespace nl::lab {
namespace {

enum Column : size_t { kIndex, kPower, kSmClock, kTemperature, kReasons, kColumns };
constexpr std::array<std::string_view, kColumns> kTitles = {
    "index", "power.draw [mW]", "clocks.current.sm [MHz]", "temperature.gpu", "clocks_event_reasons.active"};

/// Of nvml.h: HwSlowdown, SwThermalSlowdown, HwThermalSlowdown, HwPowerBrakeSlowdown. The power cap is none
/// of them: at full load it is how a GPU works.
constexpr int64_t kSlowdowns = 0x8 | 0x20 | 0x40 | 0x80;

/// Names of GPUs are quoted, and a comma inside of them parts nothing.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool is_quoted = false;
  for (const char letter : line) {
    if (letter == '"') is_quoted = !is_quoted;
    if (letter == ',' && !is_quoted) {
      cells.emplace_back();
    } else {
      cells.back() += letter;
    }
  }
  return cells;
}

struct Sums {
  GpuConditions figures = {};
  double power_mw = 0;
  int64_t power_samples = 0;

  void add(const std::array<std::optional<int64_t>, kColumns>& values) {
    figures.samples++;
    if (const auto mhz = values[kSmClock]) {
      figures.sm_mhz_low = std::min(figures.sm_mhz_low.value_or(*mhz), *mhz);
      figures.sm_mhz_high = std::max(figures.sm_mhz_high.value_or(*mhz), *mhz);
    }
    if (const auto celsius = values[kTemperature])
      figures.temperature_c = std::max(figures.temperature_c.value_or(-1000), static_cast<double>(*celsius));
    if (const auto reasons = values[kReasons])
      figures.slowed = figures.slowed.value_or(0) + ((*reasons & kSlowdowns) != 0 ? 1 : 0);
    if (const auto power = values[kPower]) {
      power_mw += static_cast<double>(*power);
      power_samples++;
    }
  }

  GpuConditions done() const {
    GpuConditions gpu = figures;
    if (power_samples > 0) gpu.power_w = power_mw / static_cast<double>(power_samples) / 1000;
    return gpu;
  }
};

}  // namespace

std::vector<GpuConditions> gpu_conditions(const std::string& csv) {
  const std::vector<std::string> lines = split(csv, '\n');
  std::array<size_t, kColumns> places = {};
  const auto titles = cells_of(lines.empty() ? "" : lines.front());
  for (size_t i = 0; i < kColumns; i++)
    places[i] = static_cast<size_t>(std::find(titles.begin(), titles.end(), kTitles[i]) - titles.begin());
  std::map<int64_t, Sums> gpus;
  for (size_t i = 1; i < lines.size(); i++) {
    const auto cells = cells_of(lines[i]);
    if (cells.size() != titles.size()) continue;  // the last one may be cut short
    std::array<std::optional<int64_t>, kColumns> values;
    for (size_t column = 0; column < kColumns; column++) {
      int64_t value = 0;
      if (places[column] < cells.size() && parse_int64(cells[places[column]], value)) values[column] = value;
    }
    if (!values[kIndex]) continue;
    Sums& gpu = gpus[*values[kIndex]];
    gpu.figures.index = *values[kIndex];
    gpu.add(values);
  }
  std::vector<GpuConditions> found;
  for (const auto& [index, gpu] : gpus) found.push_back(gpu.done());
  return found;
}

}  // namespace nl::lab
