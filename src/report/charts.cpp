#include "report/charts.h"

#include <algorithm>
#include <array>

#include "report/svg.h"

namespace nl::report {
namespace {

using analyze::Decomposition;
using analyze::MemoryAnswer;
using analyze::MemoryPoint;

constexpr std::array<const char*, 4> kClasses = {"compute", "comm", "copy", "idle"};
constexpr double kHeight = 100;

using Parts = std::array<double, 4>;

/// Of a decomposition or a column of a strip.
template <class Row>
Parts parts_of(const Row& row) {
  return {static_cast<double>(row.compute_ns), static_cast<double>(row.exposed_comm_ns),
          static_cast<double>(row.exposed_copy_ns), static_cast<double>(row.idle_ns)};
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

std::string decomposition_chart(const Decomposition& time) {
  Svg svg(1000, 10, "decomposition", "Parts of the window", true);
  const Parts parts = parts_of(time);
  const auto window = static_cast<double>(time.window_ns);
  double x = 0;
  for (size_t p = 0; p < parts.size() && window > 0; p++) {
    const double width = parts[p] / window * 1000;
    if (width > 0) svg.rect(x, 0, width, 10, kClasses[p]);
    x += width;
  }
  return svg.str();
}

std::string strip_chart(const std::vector<analyze::StripColumn>& strip, double share, const char* css_class) {
  std::vector<Parts> columns;
  std::vector<double> full;
  for (const analyze::StripColumn& column : strip) {
    const Parts parts = parts_of(column);
    columns.push_back(parts);
    full.push_back(parts[0] + parts[1] + parts[2] + parts[3]);
  }
  return stacked(columns, full, 0, css_class, "Parts of the window over time", share);
}

std::string steps_chart(const analyze::StepsAnswer& steps, const analyze::DeviceName& device) {
  std::vector<Parts> columns;
  double longest = 0;
  for (const analyze::StepAnswer& step : steps.list) {
    columns.push_back(parts_of(step.on(device)));
    longest = std::max(longest, static_cast<double>(step.dur_ns));
  }
  return stacked(columns, std::vector<double>(columns.size(), longest), columns.size() > 60 ? 0 : 0.2,
                 "steps", "Length of the steps and their parts");
}

int64_t most_memory(const MemoryAnswer& memory) {
  int64_t most = 1;
  for (const MemoryPoint& sample : memory.samples)
    most = std::max({most, sample.allocated_bytes, sample.reserved_bytes.value_or(0)});
  return most;
}

std::string memory_chart(const MemoryAnswer& memory, int64_t window_ns) {
  const auto most = static_cast<double>(most_memory(memory));
  const auto path = [&](auto&& bytes_of) {
    std::string data;
    double last = 0;
    for (const MemoryPoint& sample : memory.samples) {
      const std::optional<int64_t> bytes = bytes_of(sample);
      if (!bytes) continue;
      const double x =
          window_ns == 0 ? 0 : static_cast<double>(sample.time_ns) / static_cast<double>(window_ns) * 1000;
      const double y = kHeight - std::max(0.0, static_cast<double>(*bytes)) / most * kHeight;
      data += data.empty() ? "M" + coordinate(x) + " " + coordinate(y)
                           : "H" + coordinate(x) + "V" + coordinate(y);
      last = x;
    }
    return data.empty() || last >= 1000 ? data : data + "H1000";
  };
  const std::string reserved = path([](const MemoryPoint& sample) { return sample.reserved_bytes; });
  const std::string allocated =
      path([](const MemoryPoint& sample) { return std::optional(sample.allocated_bytes); });
  Svg svg(1000, kHeight, "memory", "Memory of the device over time", true);
  if (!reserved.empty()) svg.path(reserved, "reserved");
  if (!allocated.empty()) svg.path(allocated, "allocated");
  return svg.str();
}

}  // namespace nl::report
