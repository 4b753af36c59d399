#pragma once
// What a report says, in its order: one section a figure, the same for Markdown and HTML.

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "report/table.h"

namespace nl::report {

struct LegendEntry {
  std::string css_class;  ///< colour
  std::string text;
};

struct Section {
  std::string id;
  std::string title;
  std::string chart = {};                         ///< HTML with SVG; empty if there is none
  std::vector<LegendEntry> legend = {};           ///< of the chart
  std::pair<std::string, std::string> axis = {};  ///< left and right end of the time below the chart
  std::vector<std::string> notes = {};            ///< sentences
  Table table = {};
  bool folded = false;  ///< long and seldom read
};

struct Chapter {
  std::string id;
  std::string title;
  std::vector<Section> sections;
};

/// Devices, steps, phases, layers, coverage, what is unknown, provenance. Findings are apart.
std::vector<Chapter> chapters_of(const nlohmann::json& report);

Table environment_table(const nlohmann::json& report);
/// The main metrics of every device.
Table aggregates_table(const nlohmann::json& report);
/// Kernels and copies; of all devices if `device` is null. `top` 0: all.
Table kernels_table(const nlohmann::json& report, const nlohmann::json& device, size_t top, bool with_device);
Table ops_table(const nlohmann::json& report, const nlohmann::json& device, size_t top, bool with_device);
Table phases_table(const nlohmann::json& report);
Table steps_table(const nlohmann::json& report, const nlohmann::json& device, size_t top);
Table utilisation_table(const nlohmann::json& report);

}  // namespace nl::report
