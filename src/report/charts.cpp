#include "report/charts.h"

#include <algorithm>
#include <array>

#include "report/device_label.h"
#include "report/svg.h"

namespace nl::report {
namespace {

using nlohmann::json;

constexpr std::array<const char*, 4> kParts = {"compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns"};
constexpr std::array<const char*, 4> kClasses = {"compute", "comm", "copy", "idle"};
constexpr double kHeight = 100;

using Parts = std::array<double, 4>;

Parts parts_of(const json& row) {
  Parts parts;
  for (size_t i = 0; i < parts.size(); i++) parts[i] = row[kParts[i]].get<double>();
  return parts;
}

/// Columns of stacked parts, a path for each part. `full` is what reaches the top; idle time stays empty. The
/// columns fill `share` of the width.
std::string stacked(const std::vector<Parts>& columns, const std::vector<double>& full, double gap,
                    const char* css_class, const char* label, double share = 1) {
  std::array<std::string, 4> paths;
  for (size_t x = 0; x < columns.size(); x++) {
    double top = kHeight;
    for (size_t p = 0; p < 4; p++) {
      const double height = full[x] <= 0 ? 0 : columns[x][p] / full[x] * kHeight;
      if (height >= 0.05) {
        paths[p] += "M" + coordinate(static_cast<double>(x) + gap / 2) + " " + coordinate(top) + "h" +
                    coordinate(1 - gap) + "v-" + coordinate(height) + "h-" + coordinate(1 - gap) + "z";
      }
      top -= height;
    }
  }
  Svg svg(static_cast<double>(std::max<size_t>(1, columns.size())) / share, kHeight, css_class, label, true);
  for (size_t p = 0; p < 4; p++) {
    if (!paths[p].empty()) svg.path(paths[p], kClasses[p]);
  }
  return svg.str();
}

}  // namespace

std::string decomposition_chart(const json& device) {
  Svg svg(1000, 10, "decomposition", "Parts of the window", true);
  const Parts parts = parts_of(device);
  const double window = device["window_ns"].get<double>();
  double x = 0;
  for (size_t p = 0; p < parts.size() && window > 0; p++) {
    const double width = parts[p] / window * 1000;
    if (width > 0) svg.rect(x, 0, width, 10, kClasses[p]);
    x += width;
  }
  return svg.str();
}

std::string strip_chart(const json& strip, double share, const char* css_class) {
  std::vector<Parts> columns;
  std::vector<double> full;
  for (const json& bucket : strip) {
    Parts parts;
    double sum = 0;
    for (size_t p = 0; p < 4; p++) sum += parts[p] = bucket[p].get<double>();
    columns.push_back(parts);
    full.push_back(sum);
  }
  return stacked(columns, full, 0, css_class, "Parts of the window over time", share);
}

std::string steps_chart(const json& steps, const json& device) {
  std::vector<Parts> columns;
  double longest = 0;
  for (const json& step : steps["list"]) {
    const json rows = rows_of(step["devices"], device);
    columns.push_back(parts_of(rows[0]));
    longest = std::max(longest, step["dur_ns"].get<double>());
  }
  return stacked(columns, std::vector<double>(columns.size(), longest), columns.size() > 60 ? 0 : 0.2,
                 "steps", "Length of the steps and their parts");
}

int64_t most_memory(const json& device) {
  int64_t most = 1;
  for (const json& sample : device["memory"]["samples"]) {
    for (const size_t i : {1u, 2u}) {
      if (!sample[i].is_null()) most = std::max(most, sample[i].get<int64_t>());
    }
  }
  return most;
}

std::string memory_chart(const json& device, int64_t window_ns) {
  const json& samples = device["memory"]["samples"];
  const auto most = static_cast<double>(most_memory(device));
  const auto path = [&](size_t column) {
    std::string data;
    double last = 0;
    for (const json& sample : samples) {
      if (sample[column].is_null()) continue;
      const double x = window_ns == 0 ? 0 : sample[0].get<double>() / static_cast<double>(window_ns) * 1000;
      const double y = kHeight - std::max(0.0, sample[column].get<double>()) / most * kHeight;
      data += data.empty() ? "M" + coordinate(x) + " " + coordinate(y)
                           : "H" + coordinate(x) + "V" + coordinate(y);
      last = x;
    }
    return data.empty() || last >= 1000 ? data : data + "H1000";
  };
  Svg svg(1000, kHeight, "memory", "Memory of the device over time", true);
  if (const std::string reserved = path(2); !reserved.empty()) svg.path(reserved, "reserved");
  if (const std::string allocated = path(1); !allocated.empty()) svg.path(allocated, "allocated");
  return svg.str();
}

}  // namespace nl::report
